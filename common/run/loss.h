/* SPDX-License-Identifier: GPL-2.0-only */
/* Events that BPF could not record (abi/loss_counters.h), printed at the end of a run. */
#ifndef LOSS_H
#define LOSS_H

#include <stdint.h>

#include "output/writer.h"
#include "run/run.h"

/* Returns the run's facts for the current report, valid as long as the run. */
struct writer_facts run_facts(struct run *run);

/* Prints the first line of JSON output, except for stacks. */
void run_facts_print(struct run *run);

/* Sets the name of the option that enlarges a full map, for the hint; NULL: none. */
void loss_name_option(struct run *run, const char *option);

/*
 * Adds values that were counted but can't be shown. what: the reason, which must stay valid; only
 * the last call's is printed.
 */
void loss_add(struct run *run, const char *what, uint64_t value);

/* Returns the total of losses, in the tool's unit. */
uint64_t loss_value(const struct run *run);

/* Calls visit for each reason, for metrics, with its total since the start, even if 0. */
void loss_visit(const struct run *run, void (*visit)(const char *reason, uint64_t value, void *arg),
		void *arg);

/* Prints every loss with its share of all events; nothing if nothing was lost. */
void loss_print(const struct run *run);

#endif
