// SPDX-License-Identifier: GPL-2.0-only
/*
 * trap MS [thread]: a signal that interrupts a function at its first instruction, which traps; with
 * "thread" in a second thread. The handler spins for MS in trap_stay(); 0: it waits there.
 */
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "work.h"

#if defined(__x86_64__)
#define TRAP "ud2\n"
#elif defined(__aarch64__)
#define TRAP "udf #0\n"
#endif

/* Adjacent functions, without padding. */
extern void trap_here(void);
__asm__(".text\n"
	".type trap_before, %function\n"
	"trap_before: ret\n"
	".size trap_before, . - trap_before\n"
	".globl trap_here\n"
	".type trap_here, %function\n"
	"trap_here: .cfi_startproc\n" TRAP "ret\n"
	".cfi_endproc\n"
	".size trap_here, . - trap_here\n");

static uint64_t stay_ms;

WORK_FUNCTION void trap_stay(void)
{
	uint64_t end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + stay_ms * NS_PER_MS;
	volatile long n = 0;

	if (!stay_ms)
		work_wait_go();
	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (int i = 0; i < 1000000; i++)
			n++;
	WORK_KEEP_FRAME();
}

/* Continues after the trapping instruction. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number;
	(void)info;
	trap_stay();
#if defined(__x86_64__)
	interrupted->uc_mcontext.gregs[REG_RIP] += 2;
#elif defined(__aarch64__)
	interrupted->uc_mcontext.pc += 4;
#endif
}

WORK_FUNCTION void trap_outer(void)
{
	trap_here();
	WORK_KEEP_FRAME();
}

static void *trap_thread(void *arg)
{
	trap_outer();
	WORK_KEEP_FRAME();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	stay_ms = (uint64_t)work_number(argc, argv, 1, 100);
	work_set_comm("trap");
	sigaction(SIGILL, &action, NULL);
	if (stay_ms)
		work_wait_go();
	if (argc > 2) {
		pthread_create(&thread, NULL, trap_thread, NULL);
		pthread_join(thread, NULL);
	} else {
		trap_outer();
	}
	work_wait_end();
	return 0;
}
