/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory that reports take, and what of it stays until the next one: a run that goes on for
 * days is to be small in between.
 */
#ifndef REPORT_MEMORY_H
#define REPORT_MEMORY_H

#include "run/run.h"
#include "symbols/dso.h"

/* Value of --symbols-mem if it was not given. */
#define SYMBOLS_MEM_NOT_GIVEN UINT64_MAX

/* Once options are checked: how much tables of symbols may take, if that was not given. */
void report_memory_choose(const struct run *run, struct dso_options *symbols);

/* Around each report: small blocks that are freed are used again, and go back at its end. */
void report_memory_begin(const struct run *run);
void report_memory_end(const struct run *run);

#endif
