// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into a tool, it lets the nth call of a kind fail, once: FAULT="KIND:N", with the kinds
 * of the table below. At the end the number of calls of each kind is written to the file
 * FAULT_COUNTS. With FAULT_TRACE set, the failing call's callers are shown on stderr. Programs that
 * the tool starts don't get it.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { ALLOC, OPEN, READ, MMAP, BPF, PERF, KINDS };

/* What the kernel says where it has run out of something, or a disk is broken. */
static const struct {
	const char *name;
	int error;
} kinds[KINDS] = {
	[ALLOC] = { "alloc", ENOMEM }, [OPEN] = { "open", EMFILE }, [READ] = { "read", EIO },
	[MMAP] = { "mmap", ENOMEM },   [BPF] = { "bpf", ENOMEM },   [PERF] = { "perf", EMFILE },
};

static struct {
	bool is_ready, traces;
	char counts_path[4096];
	int kind;
	long at;
	atomic_long counts[KINDS];
} fault = { .kind = -1 };

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
	void *callers[32];

	fault.is_ready = false;
	dprintf(STDERR_FILENO, "fault %s:%ld\n", kinds[fault.kind].name, n);
	backtrace_symbols_fd(callers, backtrace(callers, 32), STDERR_FILENO);
	fault.is_ready = true;
}

static bool fails(enum kind kind)
{
	long n;

	if (!fault.is_ready)
		return false;
	n = atomic_fetch_add(&fault.counts[kind], 1) + 1;
	if (kind != (enum kind)fault.kind || n != fault.at)
		return false;
	if (fault.traces)
		show_callers(n);
	errno = kinds[kind].error;
	return true;
}

static void stop_counting(void)
{
	fault.is_ready = false;
}

__attribute__((constructor)) static void begin(void)
{
	const char *wanted = getenv("FAULT"), *path = getenv("FAULT_COUNTS");
	size_t length = wanted ? strcspn(wanted, ":") : 0;

	for (int i = 0; length && i < KINDS; i++)
		if (strlen(kinds[i].name) == length && !strncmp(wanted, kinds[i].name, length))
			fault.kind = i;
	fault.at = length && wanted[length] ? atol(wanted + length + 1) : 0;
	if (path)
		snprintf(fault.counts_path, sizeof(fault.counts_path), "%s", path);
	fault.traces = getenv("FAULT_TRACE");
	unsetenv("LD_PRELOAD");
	pthread_atfork(NULL, NULL, stop_counting);
	fault.is_ready = true;
}

__attribute__((destructor)) static void end(void)
{
	FILE *f;

	if (!fault.is_ready || !*fault.counts_path)
		return;
	fault.is_ready = false;
	f = fopen(fault.counts_path, "we");
	for (int i = 0; f && i < KINDS; i++)
		fprintf(f, "%s %ld\n", kinds[i].name, atomic_load(&fault.counts[i]));
	if (f)
		fclose(f);
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
