/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Incomplete stacks (resolver.h), and the remedy for the most frequent cause: values per cause, in
 * a bounded table. When it is full, the cause with the smallest value is replaced.
 */
#ifndef STACK_FLAWS_H
#define STACK_FLAWS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/filter.h"
#include "stacks/resolver.h"

struct stack_flaws;

struct stack_flaws *stack_flaws_new(void);
void stack_flaws_free(struct stack_flaws *flaws);

/* Adds the value of a user stack of process pid. comm: TASK_COMM_LEN bytes. */
void stack_flaws_add(struct stack_flaws *flaws, pid_t pid, const char *comm,
		     const struct stack_flaw *flaw, uint64_t value);

/* Adds a counted value; skips keys without a process or a known user stack. */
void stack_flaws_count(struct stack_flaws *flaws, const struct resolver *resolver,
		       const struct stack_key *key, uint64_t value);

/*
 * Prints the remedy (msg_info()) for the cause with the largest value, if that is more than 2 % of
 * all. lacks_tables: memory for tables ran out, so files without tables are not blamed.
 */
void stack_flaws_print(const struct stack_flaws *flaws, bool lacks_tables);

#endif
