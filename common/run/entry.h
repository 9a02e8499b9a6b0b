/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a program that is stopped by ptrace(2) after exec to its entry point, where the dynamic
 * linker has mapped all libraries that the program needs.
 */
#ifndef ENTRY_H
#define ENTRY_H

#include <sys/types.h>

/*
 * Runs the program to a breakpoint at AT_ENTRY (auxiliary vector) and restores its code. Returns 0:
 * stopped at the entry point; 1: the program exited first, with *status; -ENOTSUP: no breakpoint
 * possible, or the program executed another one; other -errno: entry point unknown. After an error
 * the program is stopped at its first instruction.
 */
int entry_run_to(pid_t pid, int *status);

#endif
