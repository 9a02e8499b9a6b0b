/* SPDX-License-Identifier: GPL-2.0-only */
/* Page faults as a table: by process, by file or kind of memory, or both. */
#ifndef FAULTTABLE_H
#define FAULTTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "abi/pagefaults.h"
#include "pagefaults/areas.h"
#include "run/tool.h"

struct fault_row {
	struct fault_key key;
	struct fault_sum sum;
};

struct fault_columns {
	bool process, area;
};

/* Sorts the rows, most faults first, and prints them below a line of titles. */
void faulttable_print(FILE *f, struct fault_row *rows, size_t n,
		      const struct fault_columns *columns, const struct areas *areas);

/* The same as lines of JSON. */
void faulttable_print_json(FILE *f, struct fault_row *rows, size_t n,
			   const struct fault_columns *columns, const struct areas *areas);

/* Before load. columns NULL: there will be no table. */
void faulttable_configure(const struct run *run, const struct fault_columns *columns);

/* After load. 0 or -errno, printed. */
int faulttable_start(struct run *run);

/* The report() of a tool, which may be its last. */
int faulttable_report(struct run *run);

#endif
