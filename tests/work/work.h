/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared code of the live tests' workloads. A workload prints "@ready" and blocks until it reads a
 * byte from standard input; after its work it prints "@done" and blocks until the input is closed.
 * So the kernel's counts can be read while the workload sleeps. It reports facts about itself in
 * lines "@COMM KEY VALUE". Without input (/dev/null) it runs without blocking.
 *
 * Functions that tests look for are never inlined and never enter the kernel themselves: a walk
 * along frame pointers skips the caller of a libc function, because libc keeps no frame pointers.
 */
#ifndef WORK_H
#define WORK_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WORK_FUNCTION __attribute__((noinline, unused)) static
#define NS_PER_MS     1000000ULL
#define NS_PER_S      1000000000ULL

/* Follows a call at a function's end, so that the compiler doesn't make it a tail call. */
#define WORK_KEEP_FRAME() __asm__ volatile("")

static inline uint64_t work_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline void work_set_comm(const char *comm)
{
	prctl(PR_SET_NAME, comm);
}

static inline void work_say(const char *key, uint64_t value)
{
	char comm[17] = {};

	prctl(PR_GET_NAME, comm);
	printf("@%s %s %llu\n", comm, key, (unsigned long long)value);
}

static inline void work_pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Gets real-time priority: other tasks' time slices could synchronize with the sampling. */
static inline void work_go_first(void)
{
	struct sched_param param = { .sched_priority = 1 };

	sched_setscheduler(0, SCHED_FIFO, &param);
}

static inline pid_t work_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* Returns the calling thread's context switches, voluntary or not. */
static inline uint64_t work_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

/* Spins for ns of the thread's CPU time, mostly in the vdso, which reads the clock. */
static inline void work_spin(uint64_t ns)
{
	uint64_t end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (int i = 0; i < 1000; i++)
			work_clock(CLOCK_MONOTONIC);
}

/* Returns the time that the calling thread was runnable without a CPU: sched_info.run_delay. */
static inline uint64_t work_waited_ns(void)
{
	static __thread int fd = -1;
	unsigned long long waited_ns = 0;
	char text[64];
	ssize_t n;

	if (fd < 0)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%*u %llu", &waited_ns) != 1)
		abort();
	return waited_ns;
}

/* The calling thread's times at one moment, read without a context switch in between. */
struct work_moment {
	uint64_t now_ns, cpu_ns, waited_ns;
};

static inline struct work_moment work_moment(void)
{
	struct work_moment moment;
	uint64_t switches;

	do {
		switches = work_switches();
		moment.now_ns = work_clock(CLOCK_MONOTONIC);
		moment.cpu_ns = work_clock(CLOCK_THREAD_CPUTIME_ID);
		moment.waited_ns = work_waited_ns();
	} while (work_switches() != switches);
	return moment;
}

WORK_FUNCTION int work_read(int fd)
{
	char byte;
	int n = (int)read(fd, &byte, 1);

	WORK_KEEP_FRAME();
	return n;
}

WORK_FUNCTION void work_sleep(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };

	nanosleep(&ts, NULL);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION int work_wait_go(void)
{
	int n;

	printf("@ready\n");
	fflush(stdout);
	n = work_read(STDIN_FILENO);
	WORK_KEEP_FRAME();
	return n;
}

WORK_FUNCTION void work_wait_end(void)
{
	printf("@done\n");
	fflush(stdout);
	while (work_read(STDIN_FILENO) > 0)
		;
	WORK_KEEP_FRAME();
}

static inline int work_number(int argc, char **argv, int i, int otherwise)
{
	return i < argc ? atoi(argv[i]) : otherwise;
}

#endif
