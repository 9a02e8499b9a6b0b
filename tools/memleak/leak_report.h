/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports of live blocks: as stacks with bytes for the writers, or in the format of BCC's memleak;
 * with --trace, a line per call. Blocks from before a process's exec are omitted. Blocks of an
 * exited process are in one more report.
 */
#ifndef LEAK_REPORT_H
#define LEAK_REPORT_H

#include "memleak/leak_probes.h"
#include "run/bpfmap.h"
#include "run/run.h"

/* Columns of a stack; those that pprof has, too, in the order of Go's own profiles. */
enum leak_column {
	LEAK_ALLOC_COUNT,
	LEAK_ALLOC_BYTES,
	LEAK_COUNT,
	LEAK_SAMPLES,
	LEAK_YOUNGEST,
	LEAK_OLDEST,
};

struct leak_report;
struct go_heaps;

/*
 * Creates the report, after load. probes: for names of processes; NULL: the kernel is traced.
 * heaps: of Go programs; NULL: none. Borrows all. Returns NULL, after printing, on failure. Freed
 * with leak_report_free().
 */
struct leak_report *leak_report_new(struct run *run, const struct leak_probes *probes,
				    struct go_heaps *heaps);
void leak_report_free(struct leak_report *report);

/* Prints calls since the last read, with --trace. */
void leak_report_read_calls(struct leak_report *report);

/*
 * Reads the table and visits each stack, with a struct stack_key and a struct stacks_value. Returns
 * 0 or -errno, printed.
 */
int leak_report_read(struct leak_report *report, map_visit_fn *visit, void *arg);

/* Prints the data of the last read. */
void leak_report_write_text(struct leak_report *report);

#endif
