/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads all goroutines of a Go program from outside, without stopping it: state, reason of waiting
 * and stack. The program runs meanwhile: a goroutine is read twice, and its stack counts only if
 * nothing has changed, and if the walk leads from where it waits to the function that it began
 * with.
 */
#ifndef GO_GOROUTINES_H
#define GO_GOROUTINES_H

#include <stddef.h>
#include <stdint.h>

#include "runtimes/go/program.h"

#define GO_STACK_MAX 512

struct go_goroutine {
	uint64_t id;
	const char *state; /* "runnable", "running", "syscall", or the reason: "chan receive" */
	/*
	 * CLOCK_MONOTONIC at which a collection found the goroutine waiting: it has waited at least
	 * since then; 0: unknown, or it doesn't wait
	 */
	uint64_t waits_since_ns;
	/* words as in struct stack_def, leaf first; n 0: no stack */
	size_t n;
	uint64_t words[GO_STACK_MAX];
	bool is_cut;	  /* outer frames did not fit */
	bool is_runtimes; /* its first function is the runtime's: the collector's goroutines */
};

/* Numbers of goroutines in a sweep; those without a stack by reason. */
struct go_sweep {
	uint64_t n, with_stack;
	uint64_t running;    /* goroutines that run: their stack is in use */
	uint64_t changed;    /* goroutines that ran while they were read */
	uint64_t incomplete; /* goroutines whose walk missed the function that they began with */
	uint64_t unseen;     /* goroutines not read: the time was up */
	uint64_t one_in;     /* number of goroutines for which each one stands */
};

struct go_goroutines;

/*
 * Prepares to read a program's goroutines (borrowed). NULL: impossible, for the reason *why. Freed
 * with go_goroutines_free().
 */
struct go_goroutines *go_goroutines_open(const struct go_program *p, const char **why);
void go_goroutines_free(struct go_goroutines *g);

/*
 * Reads all goroutines, except ended ones, for at most max_ns, and calls visit for each; *sweep
 * receives their numbers. If there are more than max_n, reads one in sweep->one_in, a different
 * part each time. 0; -EFAULT: the list can't be read; -EAGAIN: GO_NO_PROOF, as for a program that
 * is starting.
 */
#define GO_NO_PROOF "unexpected layout of struct g, or unreadable memory"
int go_goroutines_sweep(struct go_goroutines *g, uint64_t max_ns, size_t max_n,
			struct go_sweep *sweep,
			void (*visit)(const struct go_goroutine *goroutine, void *arg), void *arg);

#endif
