// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables of system calls; see calltable.h. What comes from the kernel is sorted by key and merged.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/exposition.h"
#include "process/procstate.h"
#include "run/bpfmap.h"
#include "syscount/call_columns.h"
#include "syscount/calltable.h"
#include "syscount/syscalls.h"

/* ---- call cells ---- */

void call_cells_configure(const struct run *run, struct call_settings *settings, uint32_t entries)
{
	uint32_t halves = settings->has_turns ? 2 : 1;

	settings->cell_bits = 1;
	while (settings->cell_bits < CALL_MAX_CELL_BITS && 2U << settings->cell_bits < entries)
		settings->cell_bits++;
	bpf_map__set_max_entries(map_find(run, "call_cells"), halves << settings->cell_bits);
}

void call_cells_leave_out(const struct run *run)
{
	map_leave_out(run, "call_cells");
}

uint64_t call_cells_end_turn(const struct run *run)
{
	int fd = bpf_map__fd(map_find(run, ".data.turn"));
	uint64_t turn = CALL_FIRST_TURN, next;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, &turn))
		msg_errno(-errno, "counts of calls: read failed");
	next = turn + 1;
	if (!run->is_last && !run->is_peek && bpf_map_update_elem(fd, &zero, &next, BPF_ANY))
		msg_errno(-errno, "counts of calls: buffer swap failed");
	return turn;
}

int call_cells_read(const struct run *run, uint64_t turn,
		    void (*visit)(const void *key, const void *times, void *arg), void *arg)
{
	uint32_t n = bpf_map__max_entries(map_find(run, "call_cells"));
	int n_cpus = libbpf_num_possible_cpus(), err = 0;
	struct call_cell *each = mem_zalloc((size_t)n_cpus, sizeof(*each));
	int fd = bpf_map__fd(map_find(run, "call_cells"));

	for (uint32_t i = 0; i < n && !err; i++) {
		err = bpf_map_lookup_elem(fd, &i, each);
		for (int cpu = 0; cpu < n_cpus && !err; cpu++)
			if (each[cpu].turn == turn)
				visit(&each[cpu].key, &each[cpu].times, arg);
	}
	free(each);
	return err ? msg_errno(-errno, "counts of calls: read failed") : 0;
}

/* ---- call metrics ---- */

static const struct metric calls_metric = {
	.name = "tracelets_syscount_calls_total",
	.help = "System calls that returned.",
};

static const struct metric failures_metric = {
	.name = "tracelets_syscount_failures_total",
	.help = "System calls that failed, by error.",
};

static const struct metric seconds_metric = {
	.name = "tracelets_syscount_seconds",
	.help = "Time that system calls took.",
	.kind = METRIC_HISTOGRAM,
};

static void add_label(struct metric_labels *labels, const char *name, const char *value)
{
	labels->names[labels->n] = name;
	labels->values[labels->n++] = value;
}

/* Copies the name of a row's process into a buffer of TASK_COMM_LEN + 1 bytes. */
static void calltable_comm(const struct call_layout *layout, uint32_t tgid, char *comm)
{
	if (tgid == CALLTABLE_OTHERS)
		memcpy(comm, PROCESS_OTHERS, sizeof(PROCESS_OTHERS));
	else
		layout->comm_of(layout->arg, tgid, comm);
}

struct adding {
	struct metrics *metrics;
	const struct call_layout *layout;
};

static void add_row(const struct call_row *row, void *arg)
{
	const struct adding *to = arg;
	const struct call_layout *layout = to->layout;
	char pid[16], comm[TASK_COMM_LEN + 1] = "", call[64], error[64];
	struct metric_labels labels = {};

	if (layout->by_process) {
		snprintf(pid, sizeof(pid), "%u", row->key->tgid);
		calltable_comm(layout, row->key->tgid, comm);
		add_label(&labels, "pid", pid);
		add_label(&labels, "comm", comm);
	}
	if (layout->by_call)
		add_label(&labels, "call",
			  syscall_label(call, sizeof(call), row->key->abi, row->key->number));
	if (layout->by_error)
		add_label(&labels, "error", errname_label(error, sizeof(error), row->key->error));
	metrics_add(to->metrics, layout->by_error ? &failures_metric : &calls_metric, &labels,
		    row->calls);
	if (row->hist)
		metrics_add_hist(to->metrics, &seconds_metric, &labels, row->hist);
}

void call_metrics_report(struct run *run, const struct call_layout *layout, struct calltable *table)
{
	struct adding to = { exposition_metrics(run), layout };

	calltable_visit(table, add_row, &to);
	exposition_write(run);
}

/* ---- calltable ---- */

struct entry {
	struct call_key key;
	uint64_t calls;
	struct call_times *times; /* NULL: none */
};

/* Entries of one key, summed. */
struct row {
	struct call_key key;
	struct call_sum sum;
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
	PART_CALLS,    /* one row for all errors */
	PART_FAILURES, /* by error */
	PART_RESTARTS, /* by error: calls that will be begun again */
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

	table->entries = mem_grow(table->entries, table->count, &table->cap, sizeof(*entry));
	entry = &table->entries[table->count++];
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
	if (a->tgid != b->tgid)
		return COMPARE(a->tgid, b->tgid);
	if (a->abi != b->abi)
		return COMPARE(a->abi, b->abi);
	return COMPARE(a->number, b->number);
}

static int compare_keys(const struct call_key *a, const struct call_key *b)
{
	int order = compare_but_error(a, b);

	return order ? order : COMPARE(a->error, b->error);
}

static int by_key(const void *a, const void *b)
{
	return compare_keys(&((const struct entry *)a)->key, &((const struct entry *)b)->key);
}

static int by_key_and_octave(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_keys(&x->key, &y->key);

	return order ? order : COMPARE(x->key.octave, y->key.octave);
}

static void add_times(struct call_times *sum, const struct call_times *more)
{
	for (size_t i = 0; i < HIST_SLOTS_PER_OCTAVE; i++)
		sum->slots[i] += more->slots[i];
	sum->total_ns += more->total_ns;
	sum->min_ns = more->min_ns < sum->min_ns ? more->min_ns : sum->min_ns;
	sum->max_ns = more->max_ns > sum->max_ns ? more->max_ns : sum->max_ns;
}

/* Takes what the second has. */
static void join(struct entry *sum, const struct entry *more)
{
	sum->calls += more->calls;
	if (more->times)
		add_times(sum->times, more->times);
	free(more->times);
}

/* Sorts entries, and merges equal ones. */
static void join_equal(struct calltable *table)
{
	size_t n = 0;

	if (table->count)
		qsort(table->entries, table->count, sizeof(*table->entries), by_key_and_octave);
	for (size_t i = 0; i < table->count; i++) {
		if (n && !by_key_and_octave(&table->entries[n - 1], &table->entries[i]))
			join(&table->entries[n - 1], &table->entries[i]);
		else
			table->entries[n++] = table->entries[i];
	}
	table->count = n;
}

/* ---- fewer entries ---- */

/* A process's entries, which lie together. */
struct owner {
	size_t first, n;
	uint64_t weight; /* what rows are sorted by */
	bool has_ended;
};

static struct owner *list_owners(const struct calltable *table, size_t *n)
{
	const struct call_layout *layout = table->layout;
	struct owner *owners = NULL, *owner;
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; i < table->count; i++) {
		const struct entry *entry = &table->entries[i];
		uint32_t tgid = entry->key.tgid;

		if (!i || table->entries[i - 1].key.tgid != tgid) {
			owners = mem_grow(owners, *n, &cap, sizeof(*owners));
			owners[(*n)++] = (struct owner){
				.first = i,
				.has_ended = tgid && layout->has_ended(layout->arg, tgid),
			};
		}
		owner = &owners[*n - 1];
		owner->n++;
		owner->weight +=
			layout->timed && entry->times ? entry->times->total_ns : entry->calls;
	}
	return owners;
}

static int by_life_and_weight(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	if (x->has_ended != y->has_ended)
		return COMPARE(x->has_ended, y->has_ended);
	return COMPARE(y->weight, x->weight);
}

/* Merges exited processes with the least weight, so that half of the capacity is free. */
static void shrink(struct calltable *table)
{
	size_t n, kept = 0;
	struct owner *owners = list_owners(table, &n);

	qsort(owners, n, sizeof(*owners), by_life_and_weight);
	for (size_t i = 0; i < n; i++) {
		kept += owners[i].n;
		for (size_t j = 0; j < owners[i].n; j++)
			if (owners[i].has_ended && kept > CALLTABLE_MAX_ENTRIES / 2)
				table->entries[owners[i].first + j].key.tgid = CALLTABLE_OTHERS;
	}
	free(owners);
	join_equal(table);
}

void calltable_take(struct calltable *table, struct calltable *from)
{
	for (size_t i = 0; i < from->count; i++) {
		table->entries = mem_grow(table->entries, table->count, &table->cap,
					  sizeof(*table->entries));
		table->entries[table->count++] = from->entries[i];
	}
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

	if (!row->sum.timed || times->min_ns < row->sum.min_ns)
		row->sum.min_ns = times->min_ns;
	if (times->max_ns > row->sum.max_ns)
		row->sum.max_ns = times->max_ns;
	row->sum.timed += entry->calls;
	row->sum.total_ns += times->total_ns;
	if (!row->sum.hist)
		row->sum.hist = hist_new();
	memcpy(octave.slots, times->slots, sizeof(octave.slots));
	hist_merge_octave(row->sum.hist, entry->key.octave, &octave);
}

static struct row *last_row(struct rows *rows, const struct entry *entry, enum part part)
{
	struct row *last = rows->count ? &rows->items[rows->count - 1] : NULL;

	if (last && !(part == PART_CALLS ? compare_but_error(&last->key, &entry->key)
					 : compare_keys(&last->key, &entry->key)))
		return last;
	rows->items = mem_grow(rows->items, rows->count, &rows->cap, sizeof(*rows->items));
	last = &rows->items[rows->count++];
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
		row->sum.calls += entry->calls;
		if (entry->times && entry->key.octave < HIST_OCTAVES)
			merge_times(row, entry, unit);
	}
}

static int by_calls(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sum.calls != y->sum.calls)
		return COMPARE(y->sum.calls, x->sum.calls);
	return compare_keys(&x->key, &y->key);
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sum.total_ns != y->sum.total_ns)
		return COMPARE(y->sum.total_ns, x->sum.total_ns);
	return by_calls(a, b);
}

static void free_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		hist_free(rows->items[i].sum.hist);
	free(rows->items);
}

/* ---- printing ---- */

/* ---- names ---- */

static const char *comm_text(const struct call_layout *layout, uint32_t tgid, char *text,
			     size_t size)
{
	char comm[TASK_COMM_LEN + 1] = {};

	calltable_comm(layout, tgid, comm);
	return escape_string(text, size, escape_no_name(comm), "");
}

/* Prints the columns before the count. */
static void print_name(FILE *f, const struct call_layout *layout, const struct call_key *key)
{
	char text[64];

	if (layout->by_process)
		fprintf(f, "%-6u %-15s", key->tgid,
			comm_text(layout, key->tgid, text, sizeof(text)));
	if (layout->by_process && layout->by_call)
		fputc(' ', f);
	if (layout->by_call)
		fprintf(f, "%-22s", syscall_label(text, sizeof(text), key->abi, key->number));
}

/* Prints the line above a histogram. */
static void print_title(FILE *f, const struct call_layout *layout, const struct call_key *key)
{
	char text[64];

	if (layout->by_process)
		fprintf(f, "pid = %u %s", key->tgid,
			comm_text(layout, key->tgid, text, sizeof(text)));
	if (layout->by_process && layout->by_call)
		fputs(", ", f);
	if (layout->by_call)
		fprintf(f, "syscall = %s",
			syscall_label(text, sizeof(text), key->abi, key->number));
	fputc('\n', f);
}

static void print_header(FILE *f, const struct call_layout *layout, const char *error_title,
			 const struct call_columns *shown)
{
	if (layout->by_process)
		fprintf(f, "%-22s", "PID    COMM");
	if (layout->by_process && layout->by_call)
		fputc(' ', f);
	if (layout->by_call)
		fprintf(f, "%-22s", "SYSCALL");
	if (error_title)
		fprintf(f, " %-22s", error_title);
	call_columns_print_titles(f, shown);
}

static void print_row(FILE *f, const struct calltable *table, const struct row *row,
		      bool with_error, const struct call_columns *shown)
{
	char error[32];

	print_name(f, table->layout, &row->key);
	if (with_error)
		fprintf(f, " %-22s", errname_label(error, sizeof(error), row->key.error));
	call_columns_print(f, shown, &row->sum);
}

static void print_histogram(FILE *f, const struct calltable *table, const struct row *row)
{
	if (!row->sum.timed)
		return;
	fputc('\n', f);
	print_title(f, table->layout, &row->key);
	hist_print(f, row->sum.hist, call_layout_unit(table->layout));
}

static struct rows sorted_rows(const struct calltable *table, enum part part)
{
	struct rows rows = {};

	merge(table, part, &rows);
	if (rows.count)
		qsort(rows.items, rows.count, sizeof(*rows.items),
		      table->layout->timed ? by_time : by_calls);
	return rows;
}

static void visit_part(const struct calltable *table, enum part part,
		       void (*visit)(const struct call_row *row, void *arg), void *arg)
{
	struct rows rows = sorted_rows(table, part);

	for (size_t i = 0; i < rows.count; i++) {
		const struct call_sum *sum = &rows.items[i].sum;
		struct call_row row = { &rows.items[i].key, sum->calls,
					table->layout->histograms ? sum->hist : NULL };

		visit(&row, arg);
	}
	free_rows(&rows);
}

void calltable_visit(struct calltable *table, void (*visit)(const struct call_row *row, void *arg),
		     void *arg)
{
	if (table->count)
		qsort(table->entries, table->count, sizeof(*table->entries), by_key);
	if (!table->layout->by_error) {
		visit_part(table, PART_CALLS, visit, arg);
		return;
	}
	visit_part(table, PART_FAILURES, visit, arg);
	visit_part(table, PART_RESTARTS, visit, arg);
}

/* Chooses the columns of numbers that fit after the names. */
static struct call_columns choose_columns(const struct call_layout *layout, unsigned int room,
					  bool with_error)
{
	unsigned int names = layout->by_process && layout->by_call ? 45 : 22;
	struct call_columns columns = {
		.unit = call_layout_unit(layout),
		.timed = layout->timed,
		.in_ms = layout->in_ms,
	};

	names += with_error ? 23 : 0;
	call_columns_choose(&columns, !room ? UINT_MAX : room > names ? room - names : 0);
	return columns;
}

static void print_part(FILE *f, const struct calltable *table, enum part part,
		       struct call_room room)
{
	static const char *const error_titles[] = {
		[PART_FAILURES] = "ERROR", [PART_RESTARTS] = "INTERRUPTED"
	};
	const struct call_layout *layout = table->layout;
	bool with_error = part != PART_CALLS;
	struct call_columns shown = choose_columns(layout, room.columns, with_error);
	struct rows rows = sorted_rows(table, part);

	if (with_error && rows.count)
		fputc('\n', f);
	if (!with_error || rows.count)
		print_header(f, layout, error_titles[part], &shown);
	for (size_t i = 0; i < rows.count && i < room.rows; i++)
		print_row(f, table, &rows.items[i], with_error, &shown);
	for (size_t i = 0; !with_error && layout->histograms && i < rows.count; i++)
		if (i < room.rows)
			print_histogram(f, table, &rows.items[i]);
	free_rows(&rows);
}

static void for_each_part(struct calltable *table, FILE *f, struct call_room room,
			  void (*print)(FILE *f, const struct calltable *table, enum part part,
					struct call_room room))
{
	if (table->count)
		qsort(table->entries, table->count, sizeof(*table->entries), by_key);
	print(f, table, PART_CALLS, room);
	if (!table->layout->by_error)
		return;
	print(f, table, PART_FAILURES, room);
	print(f, table, PART_RESTARTS, room);
}

void calltable_print(struct calltable *table, FILE *f, struct call_room room)
{
	for_each_part(table, f, room, print_part);
}

static void print_json_times(struct json *json, const struct calltable *table,
			     const struct row *row)
{
	json_uint(json, "total_ns", row->sum.total_ns);
	if (!row->sum.timed)
		return;
	json_uint(json, "min_ns", row->sum.min_ns);
	json_number(json, "average_ns", (double)row->sum.total_ns / (double)row->sum.timed);
	json_number(json, "p50_ns",
		    call_sum_percentile_ns(&row->sum, call_layout_unit(table->layout), 50));
	json_number(json, "p99_ns",
		    call_sum_percentile_ns(&row->sum, call_layout_unit(table->layout), 99));
	json_uint(json, "max_ns", row->sum.max_ns);
	if (!table->layout->histograms)
		return;
	json_open(json, "histogram", '{');
	hist_print_json(json, row->sum.hist, call_layout_unit(table->layout));
	json_close(json, '}');
}

static void print_json_row(FILE *f, const struct calltable *table, const struct row *row,
			   enum part part)
{
	static const char *const types[] = {
		[PART_CALLS] = "calls", [PART_FAILURES] = "failures", [PART_RESTARTS] = "restarts"
	};
	const struct call_layout *layout = table->layout;
	struct json json = json_begin_line(f, types[part]);
	char comm[TASK_COMM_LEN + 1] = {}, text[64];

	if (layout->by_process) {
		calltable_comm(layout, row->key.tgid, comm);
		json_uint(&json, "pid", row->key.tgid);
		json_text(&json, "comm", comm);
	}
	if (layout->by_call)
		json_text(&json, "syscall",
			  syscall_label(text, sizeof(text), row->key.abi, row->key.number));
	if (part != PART_CALLS)
		json_text(&json, "error", errname_label(text, sizeof(text), row->key.error));
	json_uint(&json, "count", row->sum.calls);
	if (layout->timed)
		print_json_times(&json, table, row);
	json_end_line(&json);
}

static void print_json_part(FILE *f, const struct calltable *table, enum part part,
			    struct call_room room)
{
	struct rows rows = sorted_rows(table, part);

	for (size_t i = 0; i < rows.count && i < room.rows; i++)
		print_json_row(f, table, &rows.items[i], part);
	free_rows(&rows);
}

void calltable_print_json(struct calltable *table, FILE *f, uint32_t rows)
{
	for_each_part(table, f, (struct call_room){ .rows = rows }, print_json_part);
}
