/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports of live blocks: as stacks with bytes for the writers, or as BCC's memleak prints them,
 * and with --trace a line for each call.
 * Blocks that a process held when it executed another program are left out. Blocks of a process
 * that has ended are in one more report.
 */
#ifndef LEAK_REPORT_H
#define LEAK_REPORT_H

#include "memleak/leak_probes.h"
#include "run/bpfmap.h"
#include "run/run.h"

struct leak_report;

/*
 * Maps the table of blocks, after load. probes: for the names of processes; NULL: the kernel is
 * traced. Both must stay valid. NULL, printed, if that fails; free with leak_report_free().
 */
struct leak_report *leak_report_new(struct run *run, const struct leak_probes *probes);
void leak_report_free(struct leak_report *report);

/* With --trace: prints calls that have come since. */
void leak_report_read_calls(struct leak_report *report);

/* Reads the table: visits each stack with a struct stack_key and a struct stacks_value. */
void leak_report_read(struct leak_report *report, map_visit_fn *visit, void *arg);

/* Prints the data of the last read. */
void leak_report_write_text(struct leak_report *report);

#endif
