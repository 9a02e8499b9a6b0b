/* SPDX-License-Identifier: GPL-2.0-only */
/* The live view (modules/topview.h) of stacks: which functions take most. */
#ifndef TOP_WRITER_H
#define TOP_WRITER_H

#include "output/profile.h"
#include "run/run.h"

/* Implements --top; must follow stacks_module in the list of a tool with additive reports. */
extern const struct module stacks_top_module;

/* Returns true if --top was given, once options are parsed; false if the tool has no live view. */
bool stacks_top_is_asked_for(const struct run *run);

/* Draws the profile of a report; for the last report, writes a table of the whole run. */
void top_write(struct run *run, const struct profile *p);

#endif
