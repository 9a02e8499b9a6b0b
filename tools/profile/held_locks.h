/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the threads that have the mutexes for which the target's threads wait, as far as their C
 * library notes it: by samples of /proc, several times a second, with at most 3 % of a CPU.
 */
#ifndef HELD_LOCKS_H
#define HELD_LOCKS_H

#include "run/run.h"

struct held_locks;

/* Begins to look, freed with held_locks_free(). NULL: failed, printed. */
struct held_locks *held_locks_start(struct run *run);

/*
 * Appends to a text lines about the threads found since the last call. Frees the text; returns the
 * longer one.
 */
char *held_locks_append(struct held_locks *held, char *text);

void held_locks_free(struct held_locks *held);

#endif
