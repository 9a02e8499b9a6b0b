/* SPDX-License-Identifier: GPL-2.0-only */
/* State of processes, from /proc. */
#ifndef PROCSTATE_H
#define PROCSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The name of process 0, in which tools sum up those that have no number here: they are outside of
 * the tool's pid namespace.
 */
#define PROCESS_OTHERS "[others]"

/* Returns the pids of all n processes, freed with free(). NULL: /proc can't be read. */
pid_t *process_list(size_t *n);

/* Its name, that of its main thread. 0 or -errno. */
int process_comm(pid_t pid, char *comm, size_t size);

/* True if none of its threads is left, though its parent may not have requested its status yet. */
bool process_has_ended(pid_t pid);

/* When it began, to a tick, by today's setting of the clock. 0: unknown. */
uint64_t process_start_unix_ns(pid_t pid);

/*
 * Returns the task whose /proc directory has a process's memory, root and namespaces. That is the
 * process itself unless its main thread has exited before the rest; then it is the id of a live
 * thread. Returns pid if there is none. Call it if /proc/PID has not answered.
 */
pid_t process_live_task(pid_t pid);

#endif
