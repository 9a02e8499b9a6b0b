/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits of goroutines, which have no thread while they wait: for tools that total waits of chosen
 * processes. Goroutines are looked at from outside (runtimes/go/goroutines.h), at irregular times,
 * up to 20 a second. At each look, a goroutine counts for the time since the previous look.
 */
#ifndef GOROUTINE_WAITS_H
#define GOROUTINE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/stack.h"
#include "run/run.h"

/*
 * Has the option --goroutines. A tool lists it after target_module and before stacks_module, which
 * owns mappings that it holds.
 */
extern const struct module goroutines_module;

/* Opens the programs, after load and attach. 0 or -errno, printed. */
int goroutine_waits_start(struct run *run);

/* Looks once more, at the end of a window, before stacks_report(). */
void goroutine_waits_end_window(struct run *run);

/* For struct stacks_spec: the marker of a key's group, and which keys are shown. */
const char *goroutine_waits_mark(const struct run *run, uint32_t group);
bool goroutine_waits_show(const struct run *run, const struct stack_key *key);

#endif
