/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lets a program that has just been executed, and is held by ptrace(2), run to its entry point,
 * where the dynamic linker has mapped all the libraries that it needs.
 */
#ifndef ENTRY_H
#define ENTRY_H

#include <sys/types.h>

/*
 * Sets a breakpoint at AT_ENTRY of the auxiliary vector; the program is stopped there, with its
 * code restored. 0; 1 with *status set if it ended on the way; -ENOTSUP if the breakpoint can't be
 * set, or it has executed another program on the way, or -errno if the entry point can't be
 * determined: the program is still stopped at its first instruction.
 */
int entry_run_to(pid_t pid, int *status);

#endif
