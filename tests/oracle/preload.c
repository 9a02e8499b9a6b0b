// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into any program: takes the stack with _Unwind_Backtrace() in malloc, free, read and
 * write, and in the handler of SIGPROF, and shows it at a marker function. ORACLE_SKIP=N takes one
 * of N calls; ORACLE_PROF_US is the timer's interval (0: no signals); ORACLE_ALTSTACK=1 runs the
 * handler on a stack of its own.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
#include <unwind.h>

#define ORACLE_PRELOAD
#include "oracle.h"

#define MAX_FRAMES 512 /* as many as the walker takes */

void oracle_mark(const uint64_t *frames, size_t n, enum oracle_ending ending);

struct backtrace {
	uint64_t frames[MAX_FRAMES];
	size_t n;
};

static __thread int inside;
static __thread unsigned int calls;
static unsigned int skip = 64;
static volatile int ready;

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_write)(int, const void *, size_t);

__attribute__((noinline, visibility("default"))) void oracle_mark(const uint64_t *frames, size_t n,
								  enum oracle_ending ending)
{
	__asm__ volatile("" : : "r"(frames), "r"(n), "r"(ending) : "memory");
}

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct backtrace *b = arg;

	if (b->n == MAX_FRAMES)
		return _URC_END_OF_STACK;
	b->frames[b->n++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* Not inlined and not a tail call: it is the one frame by which the two stacks differ. */
static __attribute__((noinline)) void show_stack(void)
{
	enum oracle_ending ending = ORACLE_ENDED;
	struct backtrace b = { .n = 0 };

	_Unwind_Backtrace(add_frame, &b);
	if (b.n && !b.frames[b.n - 1]) /* the outermost frame's caller */
		b.n--;
	else
		ending = b.n == MAX_FRAMES ? ORACLE_CUT : ORACLE_STOPPED;
	oracle_mark(b.frames, b.n, ending);
	__asm__ volatile("" : : : "memory");
}

static void maybe_show_stack(void)
{
	if (!ready || inside || ++calls % skip)
		return;
	inside = 1;
	show_stack();
	inside = 0;
}

static void on_prof(int signal)
{
	(void)signal;
	if (inside)
		return;
	inside = 1;
	show_stack();
	inside = 0;
}

static void start_timer(unsigned int interval_us)
{
	static char stack[256 << 10];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct itimerval timer = { .it_interval.tv_usec = interval_us,
				   .it_value.tv_usec = interval_us };
	struct sigaction action = { .sa_handler = on_prof, .sa_flags = SA_RESTART };

	if (getenv("ORACLE_ALTSTACK")) {
		sigaltstack(&alt, NULL);
		action.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
}

static void resolve(void)
{
	if (real_malloc)
		return;
	real_malloc = dlsym(RTLD_NEXT, "malloc");
	real_free = dlsym(RTLD_NEXT, "free");
	real_read = dlsym(RTLD_NEXT, "read");
	real_write = dlsym(RTLD_NEXT, "write");
}

__attribute__((constructor)) static void begin(void)
{
	const char *every = getenv("ORACLE_SKIP"), *interval = getenv("ORACLE_PROF_US");
	struct backtrace warm = { .n = 0 };

	resolve();
	if (every && atoi(every) > 0)
		skip = (unsigned int)atoi(every);
	inside = 1;
	_Unwind_Backtrace(add_frame, &warm); /* allocates the first time */
	inside = 0;
	ready = 1;
	if (interval && atoi(interval) > 0)
		start_timer((unsigned int)atoi(interval));
}

void *malloc(size_t size)
{
	void *p;

	resolve();
	maybe_show_stack();
	p = real_malloc(size);
	__asm__ volatile("" : : : "memory"); /* no tail call */
	return p;
}

void free(void *p)
{
	resolve();
	maybe_show_stack();
	real_free(p);
	__asm__ volatile("" : : : "memory");
}

ssize_t read(int fd, void *buf, size_t size)
{
	ssize_t n;

	resolve();
	maybe_show_stack();
	n = real_read(fd, buf, size);
	__asm__ volatile("" : : : "memory");
	return n;
}

ssize_t write(int fd, const void *buf, size_t size)
{
	ssize_t n;

	resolve();
	maybe_show_stack();
	n = real_write(fd, buf, size);
	__asm__ volatile("" : : : "memory");
	return n;
}
