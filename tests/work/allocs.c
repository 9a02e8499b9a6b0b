// SPDX-License-Identifier: GPL-2.0-only
/*
 * allocs: calls each existing allocation function, a different prime number of times, and frees the
 * blocks. Prints the numbers: "@allocs FUNCTION CALLS". Operators new and delete exist if a library
 * loaded before libc has them.
 */
#include <malloc.h>
#include <stdbool.h>

#include "work.h"

#define PAGE_BYTES 4096
#define WEAK	   __attribute__((weak))
#define MAX_BLOCKS 256

extern void *reallocarray(void *p, size_t n, size_t bytes) WEAK;
extern void *valloc(size_t bytes) WEAK;
extern void *pvalloc(size_t bytes) WEAK;
extern void *_Znwm(size_t bytes) WEAK;
extern void *_Znam(size_t bytes) WEAK;
extern void *_ZnwmSt11align_val_t(size_t bytes, size_t alignment) WEAK;
extern void *_ZnamSt11align_val_t(size_t bytes, size_t alignment) WEAK;
extern void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *nothrow) WEAK;
extern void *_ZnamRKSt9nothrow_t(size_t bytes, const void *nothrow) WEAK;
extern void _ZdlPv(void *p) WEAK;
extern void _ZdaPv(void *p) WEAK;
extern void _ZdlPvm(void *p, size_t bytes) WEAK;
extern void _ZdaPvm(void *p, size_t bytes) WEAK;
extern void _ZdlPvSt11align_val_t(void *p, size_t alignment) WEAK;
extern void _ZdaPvSt11align_val_t(void *p, size_t alignment) WEAK;

static void *blocks[MAX_BLOCKS];

/* Volatile, so that the compiler can't remove pairs of malloc() and free(). */
static void *(*volatile call_malloc)(size_t) = malloc;
static void *(*volatile call_calloc)(size_t, size_t) = calloc;
static void *(*volatile call_realloc)(void *, size_t) = realloc;
static void *(*volatile call_memalign)(size_t, size_t) = memalign;
static void *(*volatile call_aligned_alloc)(size_t, size_t) = aligned_alloc;
static int (*volatile call_posix_memalign)(void **, size_t, size_t) = posix_memalign;
static void (*volatile call_free)(void *) = free;

static void tell(const char *name, int calls)
{
	printf("@allocs %s %d\n", name, calls);
}

/* Returns sizes for the fast and the slow paths of allocators. */
static size_t bytes_of(int i)
{
	return i % 17 == 16 ? 300000 : i % 5 == 4 ? 5000 : (size_t)i * 3 + 1;
}

#define REPEAT(n, expression)           \
	for (int i = 0; i < (n); i++) { \
		blocks[i] = expression; \
		if (!blocks[i])         \
			abort();        \
	}
#define RELEASE(n, release)           \
	for (int i = 0; i < (n); i++) \
	release(blocks[i])

static void *posix_block(size_t alignment, size_t bytes)
{
	void *p = NULL;

	return call_posix_memalign(&p, alignment, bytes) ? NULL : p;
}

static void call_standard(void)
{
	REPEAT(101, call_malloc(bytes_of(i)));
	REPEAT(101, call_realloc(blocks[i], bytes_of(i + 1)));
	RELEASE(101, call_free);
	call_free(NULL);
	REPEAT(103, call_calloc((size_t)i + 1, bytes_of(i)));
	RELEASE(103, call_free);
	REPEAT(127, call_aligned_alloc(64, bytes_of(i) / 64 * 64 + 64));
	RELEASE(127, call_free);
	REPEAT(131, call_memalign(128, bytes_of(i)));
	RELEASE(131, call_free);
	REPEAT(113, posix_block(256, bytes_of(i)));
	RELEASE(113, call_free);
}

static void call_rare(void)
{
	if (reallocarray) {
		REPEAT(109, reallocarray(NULL, (size_t)i + 1, bytes_of(i)));
		RELEASE(109, call_free);
	}
	if (valloc) {
		REPEAT(137, valloc(bytes_of(i)));
		RELEASE(137, call_free);
	}
	if (pvalloc) /* not freed: it may be libc's, while free() is another allocator's */
		REPEAT(139, pvalloc(bytes_of(i)));
}

static void call_mmap(void)
{
	REPEAT(149, mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	REPEAT(149, mremap(blocks[i], PAGE_BYTES, 2 * PAGE_BYTES, MREMAP_MAYMOVE));
	for (int i = 0; i < 149; i++)
		munmap(blocks[i], 2 * PAGE_BYTES);
}

static void call_operators(void)
{
	REPEAT(151, _Znwm(bytes_of(i)));
	RELEASE(151, _ZdlPv);
	REPEAT(157, _Znam(bytes_of(i)));
	RELEASE(157, _ZdaPv);
	REPEAT(163, _ZnwmRKSt9nothrow_t(bytes_of(i), ""));
	for (int i = 0; i < 163; i++)
		_ZdlPvm(blocks[i], bytes_of(i));
	REPEAT(167, _ZnamRKSt9nothrow_t(bytes_of(i), ""));
	for (int i = 0; i < 167; i++)
		_ZdaPvm(blocks[i], bytes_of(i));
	REPEAT(173, _ZnwmSt11align_val_t(bytes_of(i), 64));
	for (int i = 0; i < 173; i++)
		_ZdlPvSt11align_val_t(blocks[i], 64);
	REPEAT(179, _ZnamSt11align_val_t(bytes_of(i), 64));
	for (int i = 0; i < 179; i++)
		_ZdaPvSt11align_val_t(blocks[i], 64);
}

static void tell_all(void)
{
	bool has_operators = _Znwm;

	tell("malloc", 101);
	tell("realloc", 101);
	tell("calloc", 103);
	tell("memalign", 127 + 131);
	tell("posix_memalign", 113);
	tell("reallocarray", reallocarray ? 109 : 0);
	tell("valloc", valloc ? 137 : 0);
	tell("pvalloc", pvalloc ? 139 : 0);
	tell("mmap", 149);
	tell("mremap", 149);
	tell("munmap", 149);
	tell("new", has_operators ? 151 + 157 + 163 + 167 + 173 + 179 : 0);
}

int main(void)
{
	work_set_comm("allocs");
	tell_all();
	work_wait_go();
	call_standard();
	call_rare();
	call_mmap();
	if (_Znwm)
		call_operators();
	work_wait_end();
	return 0;
}
