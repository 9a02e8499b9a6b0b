/* SPDX-License-Identifier: GPL-2.0-only */
/* Events that BPF could not record (abi/loss_counters.h), printed at the end of a run. */
#ifndef LOSS_H
#define LOSS_H

#include <stdint.h>

#include "output/writer.h"
#include "run/run.h"

/* Facts about a run, for its reports. */

/* Returns the facts for the report being made; valid as long as the run. */
struct writer_facts run_facts(struct run *run);

/* The line that JSON output of other things than stacks begins with. */
void run_facts_print(struct run *run);

/* The option that makes a full map larger; named in the hint. NULL: there is none. */
void loss_name_option(struct run *run, const char *option);

/* Adds counted values that can't be shown. what: why, one text per run, which must stay valid. */
void loss_add(struct run *run, const char *what, uint64_t value);

/* How much is missing from what was recorded, in the tool's unit. */
uint64_t loss_value(const struct run *run);

/* Calls visit for each reason that metrics have, also where nothing was lost: since the start. */
void loss_visit(const struct run *run, void (*visit)(const char *reason, uint64_t value, void *arg),
		void *arg);

/* Prints every loss with its share of all that was seen. Nothing where nothing was lost. */
void loss_print(const struct run *run);

#endif
