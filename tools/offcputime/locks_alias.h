/* SPDX-License-Identifier: GPL-2.0-only */
/* offcputime --locks, which has become the tool locks. */
#ifndef LOCKS_ALIAS_H
#define LOCKS_ALIAS_H

#include <stdbool.h>

/* Returns true if the option is given. */
bool wants_locks(int argc, char **argv);

/*
 * Executes locks with the other options: a program in the same folder, or a part of the same
 * program. Returns the exit status of a failure.
 */
int run_locks(int argc, char **argv);

#endif
