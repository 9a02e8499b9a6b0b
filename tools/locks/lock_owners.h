/* SPDX-License-Identifier: GPL-2.0-only */
/* Owners of mutexes for which threads wait now, and deadlocks among them. */
#ifndef LOCK_OWNERS_H
#define LOCK_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "abi/filter.h"
#include "locks/lock_names.h"
#include "output/frames.h"

struct lock_waiter {
	pid_t pid, tid;
	char comm[TASK_COMM_LEN + 1];
	uint64_t addr;	  /* of the futex */
	uint64_t user_id; /* id of its stack */
	const struct lock_name *lock;
	const char *kind; /* as in lock_kind_name() */

	/* Set by lock_owners_find(); 0 before. */
	bool is_chosen;		  /* its owner is looked for */
	uint64_t n_waits;	  /* its waits so far; 0: it no longer waits for the lock */
	pid_t owner;		  /* the thread that has the lock; 0: unknown */
	struct lock_waiter *next; /* the owner, if it waits, too */
	size_t walk;		  /* number of the walk that has come here; 0: none yet */
	bool is_in_cycle;	  /* the owners form a cycle with this thread */
	bool is_news;		  /* no earlier waiter shows the lock with that owner */
};

/*
 * Finds the owners of mutexes of glibc, and sorts the waiters. An owner is a thread of the waiter's
 * process, found while the waiter has not run: so all threads of a deadlock wait at the same
 * moment. Looks at one of the threads that wait for the same lock, and at those that own one.
 */
void lock_owners_find(struct lock_waiter *waiters, size_t n);

/* Returns the frames of a stack, root first. NULL: unknown. */
typedef const struct frame *const *lock_owner_stack_fn(uint64_t user_id, size_t *n, void *arg);

/*
 * Prints each lock's owner, with its stack if it waits for a lock itself, and whether that is a
 * deadlock.
 */
void lock_owners_print(FILE *f, bool is_json, const struct lock_waiter *waiters, size_t n,
		       lock_owner_stack_fn *stack, void *arg);

#endif
