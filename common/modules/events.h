/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module of tools that print single events: one row for each record of a ring buffer, as it
 * arrives. In JSON, lines about the run precede and follow the rows.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "output/table.h"
#include "run/run.h"

extern const struct module events_module;

/* A tool's declaration. */
struct events_spec {
	const char *map; /* name of the ring buffer */
	size_t size;	 /* bytes of a record */
	const struct table *table;
	void (*write)(struct run *run, struct table_output *to, const void *record);
};

/* The tool's report(). Returns 0. */
int events_report(struct run *run);

#endif
