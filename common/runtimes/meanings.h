/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions of managed runtimes, keyed by process and by the word that stands for the function
 * there. Equal functions have one entry for all processes, which lives as long as a word refers to
 * it or a user holds it.
 */
#ifndef MEANINGS_H
#define MEANINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/runtime.h"

/* meanings_free() also frees all functions, even held ones. */
struct meanings *meanings_new(void);
void meanings_free(struct meanings *meanings);

/*
 * Stores a record of size bytes, which replaces the word's former meaning. If there are very many
 * words, those not used recently are evicted: BPF sends them again.
 */
void meanings_add(struct meanings *meanings, const struct runtime_def *def, size_t size);

/*
 * Returns the function that the word stands for; "[unknown]" if there is none. Valid until the next
 * call of meanings_add() or meanings_forget(), unless it is held.
 */
struct runtime_function *meanings_find(const struct meanings *meanings, pid_t pid, uint64_t word);

/*
 * Fills in the functions that run in the frame at a position, see resolve() in runtime.h: at least
 * the function of the frame's word. They are held, and none is NULL. Returns their number.
 */
size_t meanings_resolve(struct meanings *meanings, struct runtime_instance *instance, pid_t pid,
			const struct runtime_position *position,
			struct runtime_call calls[RUNTIME_MAX_CALLS]);

void runtime_function_hold(struct runtime_function *function);
void runtime_function_release(struct runtime_function *function);

/* Returns the number of functions, without [unknown]. */
size_t meanings_count(const struct meanings *meanings);

/* Returns true if the process has known words. */
bool meanings_knows(const struct meanings *meanings, pid_t pid);

/* Drops the words of a process that has exited. */
void meanings_forget(struct meanings *meanings, pid_t pid);

#endif
