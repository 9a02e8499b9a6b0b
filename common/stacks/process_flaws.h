/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which processes have many stacks that lack something (stack_flaw.h), and what is to be done about
 * that: values per process, in a bounded table. When it is full, the processes with the least such
 * stacks are forgotten.
 */
#ifndef PROCESS_FLAWS_H
#define PROCESS_FLAWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "abi/filter.h"
#include "stacks/stack_flaw.h"

struct process_flaws;

struct process_flaws *process_flaws_new(void);
void process_flaws_free(struct process_flaws *flaws);

/*
 * A value of a user stack of process pid. comm: TASK_COMM_LEN bytes. The flaw's file is interned:
 * one name, one pointer.
 */
void process_flaws_add(struct process_flaws *flaws, pid_t pid, const char *comm,
		       const struct stack_flaw *flaw, uint64_t value);

/* Likewise, of what was counted; a stack without a process or a known user stack is left out. */
struct stackdefs;
void process_flaws_count(struct process_flaws *flaws, const struct stackdefs *defs,
			 const struct stack_key *key, uint64_t value);

/*
 * Prints what is to be done (msg_info()) about processes of whose stacks more than a tenth lacks
 * something, if that is more than a hundredth of all: at most three lines, each about those that
 * can be mended in the same way.
 * lacks_tables: files may only seem to have no unwind information, so nothing is said of them.
 */
void process_flaws_print(struct process_flaws *flaws, bool lacks_tables);

#endif
