/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc tells of a process. */
#ifndef PROCSTATE_H
#define PROCSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Its name, that of its main thread. 0 or -errno. */
int process_comm(pid_t pid, char *comm, size_t size);

/* True if none of its threads is left, though its parent may not have asked for its status yet. */
bool process_has_ended(pid_t pid);

/* The CPU time that its threads have had; 0 if it is gone. */
uint64_t process_cpu_ns(pid_t pid);

#endif
