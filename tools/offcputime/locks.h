/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * offcputime --locks: waits per lock instead of all waits. Locks of programs are seen by their
 * futexes, locks of the kernel by its events of contention, where it has them.
 */
#ifndef LOCKS_H
#define LOCKS_H

#include "run/run.h"
#include "stacks/stacks_spec.h"

/* Must follow stacks_module. */
extern const struct module locks_module;

/* The waits as stacks, each with its lock at the root, and as a table. */
extern const struct stacks_source locks_source;

/* Returns true if --locks was given. */
bool locks_are_wanted(const struct run *run);

/*
 * Returns the states whose waits are recorded (struct wait_states, letters), given the requested
 * ones: threads sleep interruptibly when they wait for programs' locks.
 */
uint32_t locks_states(const struct run *run, uint32_t letters);

#endif
