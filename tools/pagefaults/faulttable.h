/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of page faults: per process, per file or kind of memory, or both. */
#ifndef FAULTTABLE_H
#define FAULTTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/pagefaults.h"
#include "output/table.h"
#include "pagefaults/areas.h"
#include "run/run.h"

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
