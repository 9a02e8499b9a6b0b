/* SPDX-License-Identifier: GPL-2.0-only */
/* offcputime --locks: runs the tool locks. */
#ifndef LOCKS_ALIAS_H
#define LOCKS_ALIAS_H

#include <stdbool.h>

/* Returns true if the option is given. */
bool wants_locks(int argc, char **argv);

/*
 * Executes locks with the remaining options: a program in the same folder, or a part of this one.
 * Returns only on failure, with the exit status.
 */
int run_locks(int argc, char **argv);

#endif
