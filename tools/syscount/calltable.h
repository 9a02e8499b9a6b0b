/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Totals counted system calls (bpf/abi/call_record.h) and writes them in the format of BCC's
 * syscount: a row per call, per process, or both; with durations if measured, and with a second
 * table by error.
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
	bool by_error;	 /* tables by error follow, separate for restarted calls */
	bool timed;	 /* rows have durations, longest total first; else most calls first */
	bool histograms; /* one histogram per row follows the table */
	bool in_ms;	 /* print ms; false: us */

	/* Copies a process's name to a buffer of TASK_COMM_LEN + 1 bytes. */
	void (*comm_of)(void *arg, uint32_t tgid, char *comm);
	bool (*has_ended)(void *arg, uint32_t tgid); /* for calltable_take() */
	void *arg;
};

struct calltable;

struct calltable *calltable_new(const struct call_layout *layout); /* borrows layout */
void calltable_free(struct calltable *table);

/* Adds calls; keys may be repeated, and their octave is ignored. */
void calltable_add(struct calltable *table, const struct call_key *key, uint64_t calls);

/* Adds calls with durations in the key's octave. */
void calltable_add_times(struct calltable *table, const struct call_key *key,
			 const struct call_times *times);

/*
 * Moves all calls of another table of the same layout into this one, in as few entries as possible.
 * If entries by process exceed CALLTABLE_MAX_ENTRIES, exited processes are merged into one process,
 * CALLTABLE_OTHERS, which is shown as PROCESS_OTHERS.
 */
#define CALLTABLE_MAX_ENTRIES 16384
#define CALLTABLE_OTHERS      0 /* the id of processes outside of the pid namespace, too */

void calltable_take(struct calltable *table, struct calltable *from);

/* Return the number of all added calls, and of calls in an octave, e.g. CALL_UNTIMED. */
uint64_t calltable_total(const struct calltable *table);
uint64_t calltable_of_octave(const struct calltable *table, uint32_t octave);

/* Limits of the output. */
struct call_room {
	uint32_t rows;	      /* maximum rows of each table */
	unsigned int columns; /* width of text, in whole columns; 0: no limit */
};

/* Writes the rows, largest first. */
void calltable_write(struct calltable *table, struct table_output *to, struct call_room room);

/* Returns the unit of recorded durations: histogram rows begin at its powers of two. */
const struct hist_unit *call_layout_unit(const struct call_layout *layout);

#endif
