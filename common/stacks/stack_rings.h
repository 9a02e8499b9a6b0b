/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Receives definitions of stacks: from BPF through a ring buffer; copies, through another, of
 * stacks that are still to be walked; and stacks that are walked from outside. Releases their files
 * when no process maps them any more.
 */
#ifndef STACK_RINGS_H
#define STACK_RINGS_H

#include "run/bpfmap.h"
#include "run/ringbuf.h"
#include "stacks/resolver.h"

struct unwind_thread;
struct user_stacks;

struct stack_rings {
	struct run *run; /* set before stack_rings_open(); borrowed */
	struct resolver *resolver;
	struct user_stacks *user_stacks;
	struct ringbuf *definitions, *copies; /* copies NULL: there are none */
	int timer_fd;
};

/*
 * Reads them while the loop runs, and calls then(run) each time that definitions have come. 0 or
 * -errno, printed.
 */
int stack_rings_open(struct stack_rings *rings, void (*then)(struct run *run));

/* Reads the remains of a process when it exits; watch: NULL if exits can't be watched. */
struct watch;
void stack_rings_watch_exits(struct stack_rings *rings, struct watch *watch);

/* Reads what there is now. */
void stack_rings_read(struct stack_rings *rings);

/*
 * The same after reading process events: called during long work, so that new processes get their
 * tables and rings don't fill. rings: a struct stack_rings.
 */
void stack_rings_catch_up(void *rings);

/* See stacks_define_thread(). */
void stack_rings_define_thread(const struct stack_rings *rings, const struct unwind_thread *thread);

void stack_rings_close(struct stack_rings *rings);

#endif
