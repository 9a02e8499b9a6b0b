/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Receives stacks and passes definitions to the resolver: definitions from BPF, through a ring
 * buffer; copies of stacks, through another one, which are walked here; and threads, whose stacks
 * are walked from outside. A timer ages the resolver's caches.
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
	struct ringbuf *definitions, *copies; /* copies NULL: BPF makes no copies */
	int timer_fd;
	/* called for single counts, if BPF sends them */
	void (*add_event)(struct run *run, const struct stack_event *event);
};

/*
 * Opens the ring buffers, which are read while the loop runs; calls then(run) each time that
 * definitions have arrived. Returns 0 or -errno, printed.
 */
int stack_rings_open(struct stack_rings *rings, void (*then)(struct run *run));

/*
 * Reads the rings and ends the process in the resolver when a process exits; watch NULL: exits
 * can't be watched.
 */
struct watch;
void stack_rings_watch_exits(struct stack_rings *rings, struct watch *watch);

/* Reads the pending contents of the ring buffers. */
void stack_rings_read(struct stack_rings *rings);

/*
 * Reads pending process events, then the ring buffers. Called during long work, so that new
 * processes get their tables and rings don't fill. rings: a struct stack_rings.
 */
void stack_rings_catch_up(void *rings);

/* Defines a thread's user stack: see stacks_define_thread(). */
void stack_rings_define_thread(const struct stack_rings *rings, const struct unwind_thread *thread);

/* Defines a user stack that was found in memory, and returns its id: see stacks_define(). */
uint64_t stack_rings_define(const struct stack_rings *rings, pid_t tgid, const uint64_t *words,
			    size_t n, int reason);

void stack_rings_close(struct stack_rings *rings);

#endif
