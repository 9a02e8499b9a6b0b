/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the owners of mutexes for which threads wait now, and deadlocks. */
#ifndef LOCK_OWNERS_H
#define LOCK_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "abi/filter.h"
#include "modules/lock_names.h"
#include "output/frames.h"

struct lock_waiter {
	pid_t pid, tid;
	char comm[TASK_COMM_LEN + 1];
	uint64_t addr;	  /* address of the futex */
	uint64_t user_id; /* id of the thread's user stack */
	const struct lock_name *lock;
	const char *kind; /* from lock_kind_name() */

	/* Set by lock_owners_find(); 0 before. */
	bool is_chosen;		  /* its lock's owner is looked up */
	uint64_t n_waits;	  /* voluntary context switches; 0: no longer waits for the lock */
	pid_t owner;		  /* thread that has the lock; 0: unknown */
	struct lock_waiter *next; /* the owner, if that waits, too; else NULL */
	size_t walk;		  /* number of the walk that visited this waiter; 0: none yet */
	bool is_in_cycle;	  /* the thread is part of a deadlock */
	bool is_news;		  /* first waiter with this lock and owner */
};

/*
 * Finds the owners of glibc's mutexes, and sorts the waiters. An owner is a thread of the waiter's
 * process, read while the waiter did not run: so all threads of a deadlock wait at the same moment.
 * Reads one waiter per lock, and waiters that own a lock.
 */
void lock_owners_find(struct lock_waiter *waiters, size_t n);

/*
 * Returns "mutex by comm (tid)", unescaped, freed by the caller: for a waiter whose lock has a
 * known owner.
 */
char *lock_owner_text(const struct lock_waiter *w);

/* Returns the frames of a stack, root first; NULL: unknown. */
typedef const struct frame *const *lock_owner_stack_fn(uint64_t user_id, size_t *n, void *arg);

/* Prints each lock's owner, with its stack if it waits for a lock, too, and marks deadlocks. */
void lock_owners_print(FILE *f, bool is_json, const struct lock_waiter *waiters, size_t n,
		       lock_owner_stack_fn *stack, void *arg);

#endif
