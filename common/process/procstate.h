/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the state of processes from /proc. */
#ifndef PROCSTATE_H
#define PROCSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The name of process 0: the total of all processes outside of the tool's pid namespace, which have
 * no pid in it.
 */
#define PROCESS_OTHERS "[others]"

/* Returns the *n pids of all processes, freed with free(). NULL: /proc can't be read. */
pid_t *process_list(size_t *n);

/* Returns the *n threads of a process, freed with free(). NULL: it has ended. */
pid_t *thread_list(pid_t pid, size_t *n);

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
