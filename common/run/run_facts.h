/* SPDX-License-Identifier: GPL-2.0-only */
/* What a report tells of its run. */
#ifndef FACTS_H
#define FACTS_H

#include "run/tool.h"
#include "output/writer.h"

/* Of the report being made; valid as long as the run. */
struct writer_facts facts_of(const struct run *run);

/* The line that JSON output of other things than stacks begins with. */
void facts_print(struct run *run);

#endif
