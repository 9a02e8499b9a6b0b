// SPDX-License-Identifier: GPL-2.0-only
/* The workloads; see work.h. Their stacks are a few known frames deep. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/msg.h"
#include "work.h"

#define SPIN_STEPS 2000

/* One operation at the end of a stack: the compiler must neither inline it nor jump to it. */
#define LAYER(name, next)                                         \
	static __attribute__((noinline)) int name(const int *fds) \
	{                                                         \
		int result = next(fds);                           \
                                                                  \
		__asm__ volatile("" : "+r"(result));              \
		return result;                                    \
	}

static int exchange_byte(const int *fds)
{
	char byte = 0;

	return write(fds[1], &byte, 1) == 1 && read(fds[0], &byte, 1) == 1 ? 0 : -1;
}

LAYER(exchange_layer_4, exchange_byte)
LAYER(exchange_layer_3, exchange_layer_4)
LAYER(exchange_layer_2, exchange_layer_3)
LAYER(exchange_layer_1, exchange_layer_2)

static int spin_briefly(const int *fds)
{
	unsigned int x = (unsigned int)fds[0];

	for (int i = 0; i < SPIN_STEPS; i++)
		__asm__ volatile("" : "+r"(x));
	return 0;
}

LAYER(spin_layer_4, spin_briefly)
LAYER(spin_layer_3, spin_layer_4)
LAYER(spin_layer_2, spin_layer_3)
LAYER(spin_layer_1, spin_layer_2)

static int allocate_block(const int *fds)
{
	void *volatile block = malloc(64);

	(void)fds;
	free(block);
	return 0;
}

LAYER(allocate_layer_2, allocate_block)
LAYER(allocate_layer_1, allocate_layer_2)

#define FAULT_BYTES (256 << 10)
#define PAGE_BYTES  4096

static int fault_briefly(const int *fds)
{
	char *memory =
		mmap(NULL, FAULT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)fds;
	if (memory == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < FAULT_BYTES; i += PAGE_BYTES)
		*(volatile char *)(memory + i) = 1;
	return munmap(memory, FAULT_BYTES);
}

LAYER(fault_layer_4, fault_briefly)
LAYER(fault_layer_3, fault_layer_4)
LAYER(fault_layer_2, fault_layer_3)
LAYER(fault_layer_1, fault_layer_2)

static int call_briefly(const int *fds)
{
	(void)fds;
	return syscall(SYS_getppid) < 0;
}

void work_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		msg_errno(-errno, "staying on CPU %d", cpu);
}

static pid_t start_process(int cpu, int (*step)(const int *fds), const int fds[2],
			   volatile uint64_t *ops)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "bench-work");
	work_pin(cpu);
	while (!step(fds))
		(*ops)++;
	_exit(1);
}

static int start_pingpong(struct work *work, int cpu)
{
	int there[2], back[2], err = 0;

	if (pipe(there) || pipe(back))
		return msg_errno(-errno, "making pipes");
	work->pids[0] =
		start_process(cpu, exchange_layer_1, (int[]){ back[0], there[1] }, work->ops);
	work->pids[1] =
		start_process(cpu, exchange_layer_1, (int[]){ there[0], back[1] }, work->ops + 1);
	if (work->pids[0] < 0 || work->pids[1] < 0)
		err = msg_errno(-errno, "starting the workload");
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return err;
}

int work_start(struct work *work, enum work_kind kind, int cpu)
{
	static int (*const loops[])(const int *fds) = {
		[WORK_SPIN] = spin_layer_1,
		[WORK_ALLOCATE] = allocate_layer_1,
		[WORK_FAULT] = fault_layer_1,
		[WORK_CALLS] = call_briefly,
	};

	*work = (struct work){};
	work->ops = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (work->ops == MAP_FAILED)
		return msg_errno(-errno, "sharing memory");
	if (kind == WORK_PINGPONG)
		return start_pingpong(work, cpu);
	work->pids[0] = start_process(cpu, loops[kind], (int[]){ 0, 0 }, work->ops);
	return work->pids[0] < 0 ? msg_errno(-errno, "starting the workload") : 0;
}

void work_stop(struct work *work)
{
	for (int i = 0; i < 2; i++) {
		if (work->pids[i] <= 0)
			continue;
		kill(work->pids[i], SIGKILL);
		waitpid(work->pids[i], NULL, 0);
	}
	munmap((void *)work->ops, 4096);
}
