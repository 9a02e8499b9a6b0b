/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls that were counted (bpf/abi/call_record.h), totalled and written as by BCC's
 * syscount: a row per call, or per process, or both; with durations if they were measured, and with
 * a second table by error.
 */
#ifndef CALLTABLE_H
#define CALLTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/call_record.h"
#include "output/table.h"
#include "run/run.h"

struct call_layout {
	bool by_process, by_call;
	bool by_error;	 /* tables by error follow; calls to be begun again are apart */
	bool timed;	 /* rows have durations, the longest in total first; else by count */
	bool histograms; /* a histogram below the table for each row */
	bool in_ms;	 /* not in microseconds */

	/* The name of a process, into a buffer of TASK_COMM_LEN + 1 bytes. */
	void (*comm_of)(void *arg, uint32_t tgid, char *comm);
	bool (*has_ended)(void *arg, uint32_t tgid); /* for calltable_take() */
	void *arg;
};

struct calltable;

struct calltable *calltable_new(const struct call_layout *layout); /* layout must stay valid */
void calltable_free(struct calltable *table);

/* Adds calls; keys may come again, and their octave doesn't count. */
void calltable_add(struct calltable *table, const struct call_key *key, uint64_t calls);

/* Adds calls whose durations lie in the key's octave. */
void calltable_add_times(struct calltable *table, const struct call_key *key,
			 const struct call_times *times);

/*
 * Moves all calls of another table of the same layout into this one, in as few entries as possible.
 * If entries by process exceed CALLTABLE_MAX_ENTRIES, exited processes are merged into one process,
 * CALLTABLE_OTHERS, which is shown as PROCESS_OTHERS.
 */
#define CALLTABLE_MAX_ENTRIES 16384
#define CALLTABLE_OTHERS      0 /* as processes outside of the pid namespace are */

void calltable_take(struct calltable *table, struct calltable *from);

/* Return the number of all added calls, and of those in an octave, such as CALL_UNTIMED. */
uint64_t calltable_total(const struct calltable *table);
uint64_t calltable_of_octave(const struct calltable *table, uint32_t octave);

/* Limits of the output: number of rows, and width for whole columns. */
struct call_room {
	uint32_t rows;	      /* maximum rows of each table */
	unsigned int columns; /* width of text; 0: no limit */
};

/* Writes the rows, the largest first. */
void calltable_write(struct calltable *table, struct table_output *to, struct call_room room);

/*
 * Returns the unit in which durations were recorded: the rows of histograms begin at powers of two
 * of it.
 */
const struct hist_unit *call_layout_unit(const struct call_layout *layout);

#endif
