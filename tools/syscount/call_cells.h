/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cells in which BPF counts most calls that have a time (struct call_cell), from the loader's
 * side. Reports in the middle of tracing end a turn.
 */
#ifndef CALL_CELLS_H
#define CALL_CELLS_H

#include <stdint.h>

#include "abi/call_record.h"
#include "run/run.h"

/* Sets cell_bits for the number of rows, before load. */
void call_cells_configure(const struct run *run, struct call_settings *settings, uint32_t entries);
void call_cells_leave_out(const struct run *run);

/*
 * Begins the next turn, unless the report is the last one or a peek. Returns the turn to read, once
 * no program uses it any more: which the caller sees to.
 */
uint64_t call_cells_end_turn(const struct run *run);

/* Calls visit for each cell of that turn; keys come again, CPU by CPU. 0 or -errno, printed. */
int call_cells_read(const struct run *run, uint64_t turn,
		    void (*visit)(const void *key, const void *times, void *arg), void *arg);

#endif
