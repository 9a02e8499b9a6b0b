// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into a tool, it lets the nth call of a kind fail, once: FAULT="KIND:N", with the kinds
 * of the table below; FAULT="KIND:STACK/N" means the nth of those with that stack of callers. At
 * the end the number of calls of each kind is written to the file FAULT_COUNTS, and that of
 * allocations with each stack to FAULT_STACKS. A stack is a hash of its addresses: without random
 * addresses it is the same in each run. A call that fails adds a byte to the file FAULT_DONE; with
 * FAULT_TRACE set, its callers are shown on stderr. Programs that the tool starts don't get it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { ALLOC, OPEN, READ, MMAP, BPF, PERF, KINDS };

/* Errors of a kernel that is out of a resource, or whose disk is broken. */
static const struct {
	const char *name;
	int error;
} kinds[KINDS] = {
	[ALLOC] = { "alloc", ENOMEM }, [OPEN] = { "open", EMFILE }, [READ] = { "read", EIO },
	[MMAP] = { "mmap", ENOMEM },   [BPF] = { "bpf", ENOMEM },   [PERF] = { "perf", EMFILE },
};

#define MOST_CALLERS 48
#define STACK_SLOTS  (1 << 14) /* several times what a tool has */

static struct {
	bool is_ready, traces;
	const char *base; /* where this library begins */
	char counts_path[4096], stacks_path[4096], done_path[4096];
	int kind;
	uint64_t stack; /* 0: any */
	long at;
	atomic_long counts[KINDS], of_stack;
} fault = { .kind = -1 };

static struct stack {
	_Atomic uint64_t hash;
	atomic_long count;
} stacks[STACK_SLOTS];

/* glibc's own, which its malloc() and so on are other names of. */
extern void *libc_malloc(size_t size) __asm__("__libc_malloc");
extern void *libc_calloc(size_t n, size_t size) __asm__("__libc_calloc");
extern void *libc_realloc(void *p, size_t size) __asm__("__libc_realloc");

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t size);
void *reallocarray(void *p, size_t n, size_t size);
int open64(const char *path, int flags, ...);
int openat64(int dir_fd, const char *path, int flags, ...);
FILE *fopen64(const char *path, const char *mode);
ssize_t pread64(int fd, void *buf, size_t size, off64_t offset);
void *mmap64(void *addr, size_t size, int prot, int flags, int fd, off64_t offset);

static void show_callers(long n)
{
	void *callers[MOST_CALLERS];

	dprintf(STDERR_FILENO, "fault %s:%ld\n", kinds[fault.kind].name, n);
	backtrace_symbols_fd(callers, backtrace(callers, MOST_CALLERS), STDERR_FILENO);
}

static void tell_fault(long n)
{
	int fd;

	fault.is_ready = false;
	if (fault.traces)
		show_callers(n);
	fd = *fault.done_path ? open(fault.done_path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (fd >= 0 && write(fd, "x", 1) != 1)
		abort();
	if (fd >= 0)
		close(fd);
	fault.is_ready = true;
}

/* The end of this library's code, as the linker knows it. */
extern const char etext[] __attribute__((visibility("hidden")));

/* FNV-1a, of whole addresses, but for this library's own. Never 0. */
static uint64_t hash_callers(void)
{
	void *callers[MOST_CALLERS];
	int n = backtrace(callers, MOST_CALLERS);
	uint64_t hash = 0xcbf29ce484222325;

	for (int i = 0; i < n; i++)
		if ((const char *)callers[i] < fault.base || (const char *)callers[i] >= etext)
			hash = (hash ^ (uint64_t)(uintptr_t)callers[i]) * 0x100000001b3;
	return hash | 1;
}

/* Counts a stack. One that doesn't fit is missing in the total, which the test compares. */
static void count_stack(uint64_t hash)
{
	for (unsigned int i = 0; i < STACK_SLOTS; i++) {
		struct stack *s = &stacks[(hash / 2 + i) % STACK_SLOTS];
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&s->hash, &none, hash) || none == hash) {
			atomic_fetch_add(&s->count, 1);
			return;
		}
	}
}

/* The number of this call among those that may fail; 0: it may not. */
static long number_call(enum kind kind)
{
	bool is_it = kind == (enum kind)fault.kind;
	bool counts_stacks = kind == ALLOC && *fault.stacks_path;
	long n = atomic_fetch_add(&fault.counts[kind], 1) + 1;
	uint64_t hash = counts_stacks || (is_it && fault.stack) ? hash_callers() : 0;

	if (counts_stacks)
		count_stack(hash);
	if (is_it && fault.stack)
		n = hash == fault.stack ? atomic_fetch_add(&fault.of_stack, 1) + 1 : 0;
	return is_it ? n : 0;
}

static bool fails(enum kind kind)
{
	long n;

	if (!fault.is_ready)
		return false;
	n = number_call(kind);
	if (!n || n != fault.at)
		return false;
	tell_fault(n);
	errno = kinds[kind].error;
	return true;
}

static void stop_counting(void)
{
	fault.is_ready = false;
}

static void parse_fault(const char *wanted)
{
	size_t length = strcspn(wanted, ":");
	const char *number = wanted + length + (wanted[length] != '\0');
	const char *slash = strchr(number, '/');

	for (int i = 0; i < KINDS; i++)
		if (strlen(kinds[i].name) == length && !strncmp(wanted, kinds[i].name, length))
			fault.kind = i;
	if (slash)
		fault.stack = strtoull(number, NULL, 16);
	fault.at = atol(slash ? slash + 1 : number);
}

static void copy_variable(const char *name, char *to, size_t size)
{
	const char *value = getenv(name);

	snprintf(to, size, "%s", value ? value : "");
}

__attribute__((constructor)) static void begin(void)
{
	const char *wanted = getenv("FAULT");
	void *callers[1];
	Dl_info own;

	if (wanted)
		parse_fault(wanted);
	copy_variable("FAULT_COUNTS", fault.counts_path, sizeof(fault.counts_path));
	copy_variable("FAULT_STACKS", fault.stacks_path, sizeof(fault.stacks_path));
	copy_variable("FAULT_DONE", fault.done_path, sizeof(fault.done_path));
	fault.traces = getenv("FAULT_TRACE");
	fault.base = dladdr(stacks, &own) ? own.dli_fbase : etext;
	unsetenv("LD_PRELOAD");
	pthread_atfork(NULL, NULL, stop_counting);
	backtrace(callers, 1); /* the first one loads libgcc */
	fault.is_ready = true;
}

static void write_counts(void)
{
	FILE *f = *fault.counts_path ? fopen(fault.counts_path, "we") : NULL;

	for (int i = 0; f && i < KINDS; i++)
		fprintf(f, "%s %ld\n", kinds[i].name, atomic_load(&fault.counts[i]));
	if (f)
		fclose(f);
}

static void write_stacks(void)
{
	FILE *f = *fault.stacks_path ? fopen(fault.stacks_path, "we") : NULL;

	for (int i = 0; f && i < STACK_SLOTS; i++)
		if (stacks[i].hash)
			fprintf(f, "%llx %ld\n", (unsigned long long)stacks[i].hash,
				stacks[i].count);
	if (f)
		fclose(f);
}

__attribute__((destructor)) static void end(void)
{
	if (!fault.is_ready)
		return;
	fault.is_ready = false;
	write_counts();
	write_stacks();
}

/* The function that is hidden by ours, looked for at the first call. */
#define HIDDEN(name)                     \
	static __typeof__(&name) hidden; \
	if (!hidden)                     \
	*(void **)&hidden = dlsym(RTLD_NEXT, #name)

void *malloc(size_t size)
{
	return fails(ALLOC) ? NULL : libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails(ALLOC) ? NULL : libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails(ALLOC) ? NULL : libc_realloc(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

/* The mode is there only where a file may be made; a register holds something anyway. */
#define MODE_BEHIND(flags, mode)   \
	mode_t mode;               \
	va_list ap;                \
	va_start(ap, flags);       \
	mode = va_arg(ap, mode_t); \
	va_end(ap)

int open(const char *path, int flags, ...)
{
	HIDDEN(open);
	MODE_BEHIND(flags, mode);
	return fails(OPEN) ? -1 : hidden(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	MODE_BEHIND(flags, mode);
	return open(path, flags, mode);
}

int openat(int dir_fd, const char *path, int flags, ...)
{
	HIDDEN(openat);
	MODE_BEHIND(flags, mode);
	return fails(OPEN) ? -1 : hidden(dir_fd, path, flags, mode);
}

int openat64(int dir_fd, const char *path, int flags, ...)
{
	MODE_BEHIND(flags, mode);
	return openat(dir_fd, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	HIDDEN(fopen);
	return fails(OPEN) ? NULL : hidden(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	return fopen(path, mode);
}

DIR *opendir(const char *path)
{
	HIDDEN(opendir);
	return fails(OPEN) ? NULL : hidden(path);
}

ssize_t read(int fd, void *buf, size_t size)
{
	HIDDEN(read);
	return fails(READ) ? -1 : hidden(fd, buf, size);
}

ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
	HIDDEN(pread);
	return fails(READ) ? -1 : hidden(fd, buf, size, offset);
}

ssize_t pread64(int fd, void *buf, size_t size, off64_t offset)
{
	return pread(fd, buf, size, offset);
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	HIDDEN(mmap);
	return fails(MMAP) ? MAP_FAILED : hidden(addr, size, prot, flags, fd, offset);
}

void *mmap64(void *addr, size_t size, int prot, int flags, int fd, off64_t offset)
{
	return mmap(addr, size, prot, flags, fd, offset);
}

static bool call_fails(long number)
{
	switch (number) {
	case SYS_bpf:
		return fails(BPF);
	case SYS_perf_event_open:
		return fails(PERF);
	case SYS_openat2:
		return fails(OPEN);
	default:
		return false;
	}
}

/* Six arguments are in registers and on the stack, whether they are meant or not. */
long syscall(long number, ...)
{
	long args[6];
	va_list ap;
	HIDDEN(syscall);

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);
	return call_fails(number)
		       ? -1
		       : hidden(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
