// SPDX-License-Identifier: GPL-2.0-only
/*
 * signed: an allocator on top of libc's. On arm64 it is built with branch protection: functions
 * sign and check their return addresses, so a return probe at a wrong instruction kills the
 * program. Prints each function's calls: "@signed FUNCTION CALLS".
 */
#include "work.h"

#define CALLS 211

void *mi_malloc(size_t bytes);
void *mi_calloc(size_t n, size_t bytes);
void *mi_realloc(void *p, size_t bytes);
void *mi_zalloc(size_t bytes);
int mi_posix_memalign(void **p, size_t alignment, size_t bytes);
void mi_free(void *p);

__attribute__((noinline)) void *mi_malloc(size_t bytes)
{
	void *p = malloc(bytes);

	WORK_KEEP_FRAME();
	return p;
}

__attribute__((noinline)) void *mi_calloc(size_t n, size_t bytes)
{
	void *p = calloc(n, bytes);

	WORK_KEEP_FRAME();
	return p;
}

__attribute__((noinline)) void *mi_realloc(void *p, size_t bytes)
{
	p = realloc(p, bytes);
	WORK_KEEP_FRAME();
	return p;
}

__attribute__((noinline)) int mi_posix_memalign(void **p, size_t alignment, size_t bytes)
{
	int err = posix_memalign(p, alignment, bytes);

	WORK_KEEP_FRAME();
	return err;
}

/* Calls another signed function. */
__attribute__((noinline)) void *mi_zalloc(size_t bytes)
{
	void *p = mi_calloc(1, bytes);

	WORK_KEEP_FRAME();
	return p;
}

__attribute__((noinline)) void mi_free(void *p)
{
	free(p);
	WORK_KEEP_FRAME();
}

int main(void)
{
	work_set_comm("signed");
	work_say("malloc", 2 * CALLS);
	work_say("calloc", 2 * CALLS);
	work_say("realloc", CALLS);
	work_say("posix_memalign", CALLS);
	work_say("free", 3 * CALLS);
	work_wait_go();
	for (size_t i = 1; i <= CALLS; i++) {
		void *p = mi_realloc(mi_malloc(i), 3 * i), *q = mi_calloc(i, 7), *r = NULL;

		if (mi_posix_memalign(&r, 64, i))
			abort();
		mi_free(p);
		mi_free(q);
		mi_free(r);
		free(mi_zalloc(i));
	}
	work_wait_end();
	return 0;
}
