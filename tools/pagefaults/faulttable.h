/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of page faults: per process, per file or kind of memory, or both. */
#ifndef FAULTTABLE_H
#define FAULTTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"
#include "abi/pagefaults.h"
#include "base/idmap.h"
#include "output/table.h"
#include "run/run.h"

/* Names of memory areas (bpf/abi/area.h): paths of their files, from BPF. All zero: none. */
struct areas {
	struct idmap by_hash;
	uint32_t n_reports;
};

void areas_clear(struct areas *areas);

/* Stores a definition of size bytes, replacing an earlier one; drops malformed ones. */
void areas_define(struct areas *areas, const struct area_def *def, size_t size);

/*
 * Returns the path as in /proc/PID/maps: "/usr/bin/x", "/tmp/y (deleted)", "[vdso]". Begins with
 * "..." if BPF truncated it. "": no name; NULL: unknown.
 */
const char *areas_name(const struct areas *areas, const struct area_id *id);

/*
 * Ends a report, after which BPF sends the names of counted areas again. Evicts names unused in
 * this report and the previous one.
 */
void areas_end_report(struct areas *areas);

/* Returns "file", "heap", ... */
const char *area_kind_name(uint32_t kind);

struct fault_row {
	struct fault_key key;
	struct fault_sum sum;
};

struct fault_columns {
	bool process, area;
};

/* Sorts the rows, most faults first, and writes them. */
void faulttable_write(struct table_output *to, struct fault_row *rows, size_t n,
		      const struct fault_columns *columns, const struct areas *areas);

/* Counts per process and area while tracing. */
extern const struct module faulttable_module;

struct faulttable_spec {
	const struct fault_columns *(*columns)(const struct run *run);
};

/* The tool's report(). */
int faulttable_report(struct run *run);

#endif
