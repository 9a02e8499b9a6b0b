/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts about a run, for its reports. */
#ifndef RUN_FACTS_H
#define RUN_FACTS_H

#include "output/writer.h"
#include "run/run.h"

/* Returns the facts for the report being made; valid as long as the run. */
struct writer_facts run_facts(struct run *run);

/* The line that JSON output of other things than stacks begins with. */
void run_facts_print(struct run *run);

#endif
