/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module of all stack tools: options of their output, definitions drained while tracing, and
 * the report: counts by name, joined with definitions, as a profile, through a writer.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "../bpf/stack.h"
#include "tool.h"

extern const struct module stacks_module;

/* False with -K: then nobody needs to walk user stacks. */
bool stacks_want_user(void);

/*
 * For tools that can show something else. Some option about stacks was given; and, from a tool's
 * check(): there will be none, and nothing is to be prepared for them.
 */
bool stacks_are_asked_for(void);
void stacks_leave_out(void);

/* How a tool's raw values become its unit: divided by that (1000: ns to us). Default 1. */
void stacks_set_divisor(uint64_t divisor);

/* -a, of the tools that have it: kernel frames are marked. */
void stacks_set_annotate(bool annotate);

/* Defines a user stack that BPF did not take; for ids with STACK_ID_AT_START. */
void stacks_define(const struct stack_def *def);

/* The report() of every stack tool. */
int stacks_report(struct run *run);

#endif
