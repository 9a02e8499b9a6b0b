/* SPDX-License-Identifier: GPL-2.0-only */
/* The live view (modules/topview.h) of stacks: which functions take most. */
#ifndef TOP_WRITER_H
#define TOP_WRITER_H

#include "output/profile.h"
#include "run/run.h"

/* --top, for tools whose reports can be totalled. Must follow stacks_module in the tool's list. */
extern const struct module stacks_top_module;

/* False if the tool has no such view. Once options are parsed. */
bool stacks_top_is_asked_for(const struct run *run);

/* Draws the profile of a report; for the last one, writes a table of all of them. */
void top_write(struct run *run, const struct profile *p);

#endif
