/* SPDX-License-Identifier: GPL-2.0-only */
/* offcputime --locks: runs the tool locks. */
#ifndef LOCKS_ALIAS_H
#define LOCKS_ALIAS_H

#include <stdbool.h>

/* Returns true if --locks is given. */
bool wants_locks(int argc, char **argv);

/*
 * Executes locks with the remaining options, from the same folder or from this binary. Returns only
 * on failure, with the exit status.
 */
int run_locks(int argc, char **argv);

#endif
