/* SPDX-License-Identifier: GPL-2.0-only */
/* State of processes, from /proc. */
#ifndef PROCSTATE_H
#define PROCSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The name of process 0, under which tools total processes outside of the tool's pid namespace,
 * which have no pid here.
 */
#define PROCESS_OTHERS "[others]"

/* Returns the pids of all n processes, freed with free(). NULL: /proc can't be read. */
pid_t *process_list(size_t *n);

/* Reads the process's name, which is its main thread's. 0 or -errno. */
int process_comm(pid_t pid, char *comm, size_t size);

/* Returns true if all its threads have exited, even if its parent has not reaped it yet. */
bool process_has_ended(pid_t pid);

/* Returns its start time, exact to a tick, by the current setting of the clock. 0: unknown. */
uint64_t process_start_unix_ns(pid_t pid);

/*
 * Returns the task whose /proc directory has a process's memory, root and namespaces. That is the
 * process itself unless its main thread has exited before the rest; then it is the id of a live
 * thread. Returns pid if there is none. Called if /proc/PID lacks these.
 */
pid_t process_live_task(pid_t pid);

#endif
