/* SPDX-License-Identifier: GPL-2.0-only */
/* The live view (topview.h) of stacks: which functions take most. */
#ifndef TOP_WRITER_H
#define TOP_WRITER_H

#include "output/profile.h"
#include "run/tool.h"

/* Draws the profile of a report; of the last one, writes a table of all of them. */
void top_write(const struct run *run, const struct profile *p);

void top_finish(void);

#endif
