// SPDX-License-Identifier: GPL-2.0-only
/* Tables of system calls; see calltable.h. Entries from the kernel are sorted by key and merged. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "process/procstate.h"
#include "syscount/calltable.h"
#include "process/syscalls.h"

struct entry {
	struct call_key key;
	uint64_t calls;
	struct call_times *times; /* durations; NULL: not measured */
};

/* Total of one key's entries. */
struct row {
	struct call_key key;
	uint64_t calls, timed; /* timed: calls with a duration */
	uint64_t total_ns, min_ns, max_ns;
	struct hist *hist; /* NULL: no call has a duration */
};

struct rows {
	struct row *items;
	size_t count, cap;
};

struct calltable {
	const struct call_layout *layout;
	struct entry *entries;
	size_t count, cap;
};

/* Selects the entries of a table. */
enum part {
	PART_CALLS,    /* all calls: one row for all errors */
	PART_FAILURES, /* failed calls, by error */
	PART_RESTARTS, /* interrupted calls that will be restarted, by error */
};

struct calltable *calltable_new(const struct call_layout *layout)
{
	struct calltable *table = mem_zalloc(1, sizeof(*table));

	table->layout = layout;
	return table;
}

void calltable_free(struct calltable *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->entries[i].times);
	free(table->entries);
	free(table);
}

static struct entry *add_entry(struct calltable *table, const struct call_key *key)
{
	struct entry *entry;

	entry = MEM_APPEND(table->entries, table->count, table->cap);
	*entry = (struct entry){ .key = *key };
	return entry;
}

void calltable_add(struct calltable *table, const struct call_key *key, uint64_t calls)
{
	struct entry *entry = add_entry(table, key);

	entry->key.octave = 0;
	entry->calls = calls;
}

void calltable_add_times(struct calltable *table, const struct call_key *key,
			 const struct call_times *times)
{
	struct entry *entry = add_entry(table, key);

	entry->times = mem_zalloc(1, sizeof(*times));
	*entry->times = *times;
	for (size_t i = 0; i < HIST_SLOTS_PER_OCTAVE; i++)
		entry->calls += times->slots[i];
}

uint64_t calltable_total(const struct calltable *table)
{
	uint64_t total = 0;

	for (size_t i = 0; i < table->count; i++)
		total += table->entries[i].calls;
	return total;
}

uint64_t calltable_of_octave(const struct calltable *table, uint32_t octave)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < table->count; i++)
		if (table->entries[i].key.octave == octave)
			calls += table->entries[i].calls;
	return calls;
}

const struct hist_unit *call_layout_unit(const struct call_layout *layout)
{
	if (!layout->histograms)
		return &hist_nsecs;
	return layout->in_ms ? &hist_msecs : &hist_usecs;
}

/* ---- merging ---- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_but_error(const struct call_key *a, const struct call_key *b)
{
	int order = COMPARE(a->tgid, b->tgid) ?: COMPARE(a->abi, b->abi);

	return order ?: COMPARE(a->number, b->number);
}

static int compare_keys(const struct call_key *a, const struct call_key *b)
{
	return compare_but_error(a, b) ?: COMPARE(a->error, b->error);
}

static int by_key(const void *a, const void *b)
{
	return compare_keys(&((const struct entry *)a)->key, &((const struct entry *)b)->key);
}

static int by_key_and_octave(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return compare_keys(&x->key, &y->key) ?: COMPARE(x->key.octave, y->key.octave);
}

static void add_times(struct call_times *sum, const struct call_times *more)
{
	for (size_t i = 0; i < HIST_SLOTS_PER_OCTAVE; i++)
		sum->slots[i] += more->slots[i];
	sum->total_ns += more->total_ns;
	sum->min_ns = more->min_ns < sum->min_ns ? more->min_ns : sum->min_ns;
	sum->max_ns = more->max_ns > sum->max_ns ? more->max_ns : sum->max_ns;
}

/* Adds `more` to `sum`; frees more->times. */
static void join(struct entry *sum, const struct entry *more)
{
	sum->calls += more->calls;
	if (more->times)
		add_times(sum->times, more->times);
	free(more->times);
}

/* Sorts entries and merges equal ones. */
static void join_equal(struct calltable *table)
{
	size_t n = 0;

	SORT(table->entries, table->count, by_key_and_octave);
	for (size_t i = 0; i < table->count; i++) {
		if (n && !by_key_and_octave(&table->entries[n - 1], &table->entries[i]))
			join(&table->entries[n - 1], &table->entries[i]);
		else
			table->entries[n++] = table->entries[i];
	}
	table->count = n;
}

/* ---- fewer entries ---- */

/* Merges exited processes. Entries of a process are adjacent: it is looked up once. */
static void shrink(struct calltable *table)
{
	const struct call_layout *layout = table->layout;
	uint32_t known = CALLTABLE_OTHERS;
	bool has_ended = false;

	for (size_t i = 0; i < table->count; i++) {
		uint32_t *tgid = &table->entries[i].key.tgid;

		if (*tgid != known)
			has_ended = layout->has_ended(layout->arg, *tgid);
		known = *tgid;
		if (has_ended)
			*tgid = CALLTABLE_OTHERS;
	}
	join_equal(table);
}

void calltable_take(struct calltable *table, struct calltable *from)
{
	for (size_t i = 0; i < from->count; i++)
		*MEM_APPEND(table->entries, table->count, table->cap) = from->entries[i];
	from->count = 0;
	join_equal(table);
	if (table->layout->by_process && table->count > CALLTABLE_MAX_ENTRIES)
		shrink(table);
}

static bool belongs(const struct calltable *table, const struct entry *entry, enum part part)
{
	bool is_restart = table->layout->by_error && errname_is_restart(entry->key.error);

	return is_restart == (part == PART_RESTARTS);
}

static uint64_t to_fixed(const struct hist_unit *unit, uint64_t ns)
{
	double per_ns = (double)unit->mult / (double)(1ULL << unit->shift);

	return (uint64_t)((double)ns * per_ns);
}

static void merge_times(struct row *row, const struct entry *entry, const struct hist_unit *unit)
{
	const struct call_times *times = entry->times;
	struct hist_octave octave = { .sum = to_fixed(unit, times->total_ns),
				      .max = hist_fixed(unit, times->max_ns) };

	if (!row->timed || times->min_ns < row->min_ns)
		row->min_ns = times->min_ns;
	if (times->max_ns > row->max_ns)
		row->max_ns = times->max_ns;
	row->timed += entry->calls;
	row->total_ns += times->total_ns;
	if (!row->hist)
		row->hist = hist_new();
	memcpy(octave.slots, times->slots, sizeof(octave.slots));
	hist_merge_octave(row->hist, entry->key.octave, &octave);
}

static struct row *last_row(struct rows *rows, const struct entry *entry, enum part part)
{
	struct row *last = rows->count ? &rows->items[rows->count - 1] : NULL;

	if (last && !(part == PART_CALLS ? compare_but_error(&last->key, &entry->key)
					 : compare_keys(&last->key, &entry->key)))
		return last;
	last = MEM_APPEND(rows->items, rows->count, rows->cap);
	*last = (struct row){ .key = entry->key };
	return last;
}

static void merge(const struct calltable *table, enum part part, struct rows *rows)
{
	const struct hist_unit *unit = call_layout_unit(table->layout);

	for (size_t i = 0; i < table->count; i++) {
		const struct entry *entry = &table->entries[i];
		struct row *row;

		if (!belongs(table, entry, part))
			continue;
		row = last_row(rows, entry, part);
		row->calls += entry->calls;
		if (entry->times && entry->key.octave < HIST_OCTAVES)
			merge_times(row, entry, unit);
	}
}

static int by_calls(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return COMPARE(y->calls, x->calls) ?: compare_keys(&x->key, &y->key);
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return COMPARE(y->total_ns, x->total_ns) ?: by_calls(a, b);
}

static void free_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		hist_free(rows->items[i].hist);
	free(rows->items);
}

/* ---- the table ---- */

static const struct metric calls_metric = {
	.name = "tracelets_syscount_calls_total",
	.help = "System calls that returned.",
};

static const struct metric failures_metric = {
	.name = "tracelets_syscount_failures_total",
	.help = "System calls that failed, by error.",
};

static const struct metric restarts_metric = {
	.name = "tracelets_syscount_restarts_total",
	.help = "System calls that were interrupted and may be restarted, by error.",
};

static const struct metric seconds_metric = {
	.name = "tracelets_syscount_seconds",
	.help = "Time that system calls took.",
	.kind = METRIC_HISTOGRAM,
};

enum { PID, COMM, CALL, ERROR, COUNT, TOTAL, MIN, AVERAGE, P50, P99, MAX, HISTOGRAM, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
	[PID] = { "pid", "PID", CELL_UINT, -6, .label = "pid" },
	[COMM] = { "comm", "COMM", CELL_COMM, -15, .label = "comm" },
	[CALL] = { "syscall", "SYSCALL", CELL_TEXT, -22, .label = "call" },
	[ERROR] = { "error", "ERROR", CELL_TEXT, -22, .label = "error" },
	[COUNT] = { "count", "COUNT", CELL_UINT, 8, .metric = &calls_metric },
	[TOTAL] = { "total_ns", "TIME", CELL_TIME, 13 },
	[MIN] = { "min_ns", "MIN", CELL_SPAN, 6 },
	[AVERAGE] = { "average_ns", "AVG", CELL_SPAN, 6 },
	[P50] = { "p50_ns", "P50", CELL_SPAN, 6 },
	[P99] = { "p99_ns", "P99", CELL_SPAN, 6 },
	[MAX] = { "max_ns", "MAX", CELL_SPAN, 6 },
	[HISTOGRAM] = { "histogram", .kind = CELL_HIST, .metric = &seconds_metric },
};

/* State of writing one part. */
struct writing {
	struct table_output *to;
	const struct call_layout *layout;
	struct table_column columns[N_COLUMNS];
	struct table table;
};

static bool is_text(const struct writing *writing)
{
	return writing->to->format == &text_table;
}

static uint32_t name_columns(const struct call_layout *layout)
{
	return (layout->by_process ? TABLE_COLUMN(PID) | TABLE_COLUMN(COMM) : 0) |
	       (layout->by_call ? TABLE_COLUMN(CALL) : 0);
}

static uint32_t shown_columns(const struct writing *writing, enum part part, bool is_narrow)
{
	const struct call_layout *layout = writing->layout;
	uint32_t shown = name_columns(layout) | TABLE_COLUMN(COUNT);

	if (part != PART_CALLS)
		shown |= TABLE_COLUMN(ERROR);
	for (unsigned int i = TOTAL; layout->timed && i <= MAX; i++)
		shown |= TABLE_COLUMN(i);
	if (layout->histograms && !is_text(writing))
		shown |= TABLE_COLUMN(HISTOGRAM);
	return is_narrow ? shown & ~TABLE_COLUMN(MIN) : shown;
}

static void begin_part(struct writing *writing, enum part part, unsigned int max_width)
{
	static const char *const types[] = {
		[PART_CALLS] = "calls", [PART_FAILURES] = "failures", [PART_RESTARTS] = "restarts"
	};
	const struct call_layout *layout = writing->layout;

	memcpy(writing->columns, columns, sizeof(columns));
	if (part == PART_RESTARTS)
		writing->columns[ERROR].title = "INTERRUPTED";
	if (layout->by_error)
		writing->columns[COUNT].metric =
			part == PART_RESTARTS ? &restarts_metric : &failures_metric;
	writing->table = (struct table){
		.type = types[part],
		.columns = writing->columns,
		.n = N_COLUMNS,
		.shown = shown_columns(writing, part, max_width),
		.elsewhere = layout->by_error ? TABLE_COLUMN(ERROR) : 0,
		.in_ms = layout->in_ms,
		.max_width = max_width,
		.unit = call_layout_unit(layout),
	};
	table_head(writing->to, &writing->table);
}

/* Copies the name of a row's process into a buffer of TASK_COMM_LEN + 1 bytes. */
static void copy_comm(const struct call_layout *layout, uint32_t tgid, char *comm)
{
	if (tgid == CALLTABLE_OTHERS)
		memcpy(comm, PROCESS_OTHERS, sizeof(PROCESS_OTHERS));
	else
		layout->comm_of(layout->arg, tgid, comm);
}

/* Returns a percentile of the durations, at least their minimum. */
static double percentile_ns(const struct row *row, const struct hist_unit *unit, double percent)
{
	double ns, unit_ns = unit == &hist_nsecs ? 1 : unit == &hist_usecs ? 1e3 : 1e6;

	if (!row->timed)
		return 0;
	ns = hist_percentile(row->hist, unit, percent) * unit_ns;
	return ns < (double)row->min_ns ? (double)row->min_ns : ns;
}

static void write_row(const struct writing *writing, const struct row *row)
{
	const struct hist_unit *unit = writing->table.unit;
	double average = (double)row->total_ns / (double)(row->timed ?: 1);
	char comm[TASK_COMM_LEN + 1] = "", call[64], error[64];
	bool is_unknown = !row->timed;

	if (writing->layout->by_process)
		copy_comm(writing->layout, row->key.tgid, comm);
	syscall_label(call, sizeof(call), row->key.abi, row->key.number);
	errname_label(error, sizeof(error), row->key.error);
	table_row(writing->to, &writing->table,
		  (const struct cell[]){
			  [PID] = { .n = row->key.tgid },
			  [COMM] = { .text = comm },
			  [CALL] = { .text = call },
			  [ERROR] = { .text = error },
			  [COUNT] = { .n = row->calls },
			  [TOTAL] = { .n = row->total_ns },
			  [MIN] = { .is_unknown = is_unknown, .x = (double)row->min_ns },
			  [AVERAGE] = { .is_unknown = is_unknown, .x = average },
			  [P50] = { .is_unknown = is_unknown, .x = percentile_ns(row, unit, 50) },
			  [P99] = { .is_unknown = is_unknown, .x = percentile_ns(row, unit, 99) },
			  [MAX] = { .is_unknown = is_unknown, .x = (double)row->max_ns },
			  [HISTOGRAM] = { .hist = row->hist },
		  });
}

/* Writes the rows of a part; in text, their histograms follow. */
static void write_rows(struct writing *writing, enum part part, const struct rows *rows,
		       uint32_t max_rows)
{
	for (size_t i = 0; i < rows->count && i < max_rows; i++)
		write_row(writing, &rows->items[i]);
	if (!is_text(writing) || !writing->layout->histograms || part != PART_CALLS)
		return;
	writing->table.shown = name_columns(writing->layout) | TABLE_COLUMN(HISTOGRAM);
	for (size_t i = 0; i < rows->count && i < max_rows; i++)
		if (rows->items[i].timed)
			write_row(writing, &rows->items[i]);
}

static void write_part(const struct calltable *table, enum part part, struct table_output *to,
		       struct call_room room)
{
	struct writing writing = { .to = to, .layout = table->layout };
	struct rows rows = {};

	merge(table, part, &rows);
	SORT(rows.items, rows.count, table->layout->timed ? by_time : by_calls);
	if (is_text(&writing) && part != PART_CALLS && rows.count)
		fputc('\n', to->f);
	if (part == PART_CALLS || rows.count)
		begin_part(&writing, part, room.columns);
	write_rows(&writing, part, &rows, room.rows);
	free_rows(&rows);
}

void calltable_write(struct calltable *table, struct table_output *to, struct call_room room)
{
	bool by_error = table->layout->by_error;

	SORT(table->entries, table->count, by_key);
	if (!by_error || !to->format->has_totals)
		write_part(table, PART_CALLS, to, room);
	if (!by_error)
		return;
	write_part(table, PART_FAILURES, to, room);
	write_part(table, PART_RESTARTS, to, room);
}
