/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes with many incomplete stacks (stackdefs.h), and the remedies: values per process, in a
 * bounded table. When it is full, the processes with the fewest such stacks are dropped.
 */
#ifndef PROCESS_FLAWS_H
#define PROCESS_FLAWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "abi/filter.h"
#include "stacks/stackdefs.h"

struct process_flaws;

struct process_flaws *process_flaws_new(void);
void process_flaws_free(struct process_flaws *flaws);

/*
 * Adds a value of a user stack of process pid. comm: TASK_COMM_LEN bytes. The flaw's file is
 * interned: one name, one pointer.
 */
void process_flaws_add(struct process_flaws *flaws, pid_t pid, const char *comm,
		       const struct stack_flaw *flaw, uint64_t value);

/* Adds a counted value; a stack without a process or a known user stack is skipped. */
struct stackdefs;
void process_flaws_count(struct process_flaws *flaws, const struct stackdefs *defs,
			 const struct stack_key *key, uint64_t value);

/*
 * Prints remedies (msg_info()) for processes of whose stacks more than a tenth is incomplete, if
 * that is more than a hundredth of all stacks: at most three lines, one per remedy. lacks_tables:
 * files may only seem to have no unwind information, so they are not reported.
 */
void process_flaws_print(struct process_flaws *flaws, bool lacks_tables);

#endif
