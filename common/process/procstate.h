/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the state of processes from /proc. */
#ifndef PROCSTATE_H
#define PROCSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/call_record.h"

/*
 * The name of process 0: the total of all processes outside of the tool's pid namespace, which have
 * no pid in it.
 */
#define PROCESS_OTHERS "[others]"

/* Returns the *n pids of all processes, freed with free(). NULL: /proc can't be read. */
pid_t *process_list(size_t *n);

/* Returns the *n threads of a process, freed with free(). NULL: it has ended. */
pid_t *thread_list(pid_t pid, size_t *n);

/* Fields of proc_pid_stat(5). */
struct process_stat {
	char state;	      /* 'R', 'S', 'D', 'Z', ... */
	size_t n_threads;     /* threads that have not been reaped */
	uint64_t start_ticks; /* since boot */
	uint64_t minor_faults, major_faults;
	uint64_t resident_pages;
};

/* Returns false if the process has ended or its file is unreadable. */
bool process_stat_read(struct process_stat *stat, pid_t pid);

/* Returns a file of a thread's folder as text, freed with free(); NULL: it can't be read. */
char *thread_file(pid_t pid, pid_t tid, const char *name);

/* Returns a thread's id in its own pid namespace; 0: unknown. */
pid_t thread_inner_id(pid_t pid, pid_t tid);

/* A system call that a thread is in, from proc_pid_syscall(5). */
struct thread_call {
	bool is_off_cpu;   /* the thread doesn't run: the rest is known */
	enum call_abi abi; /* interface that the number belongs to */
	int32_t number;	   /* -1: in no call; -2: unknown */
	uint64_t args[6], sp, pc;
};

/* Returns false if it can't be read. Kernel threads are in no call, and have sp and pc 0. */
bool thread_call_read(struct thread_call *call, pid_t pid, pid_t tid);

/* A thread's times, as the scheduler counts them (Documentation/scheduler/sched-stats.rst). */
struct thread_times {
	uint64_t ran_ns;    /* time on CPUs, as of the latest tick */
	uint64_t waited_ns; /* time on run queues */
	uint64_t arrivals;  /* number of times that the thread got a CPU */
};

/* Returns false, and zeros, if the thread has ended or the kernel does not count. */
bool thread_times_read(struct thread_times *times, pid_t pid, pid_t tid);

/* Reads the process's name, which is the name of its main thread. 0 or -errno. */
int process_comm(pid_t pid, char *comm, size_t size);

/* Returns true if all threads have exited, even if the parent has not reaped the process yet. */
bool process_has_ended(pid_t pid);

/* Returns the start time by CLOCK_REALTIME as set now, in ns, exact to a clock tick. 0: unknown. */
uint64_t process_start_unix_ns(pid_t pid);

/*
 * Returns the task whose /proc directory has a process's memory, root and namespaces: pid or, if
 * the main thread has exited before the rest, a live thread; pid if there is none. Called if
 * /proc/PID lacks these.
 */
pid_t process_live_task(pid_t pid);

#endif
