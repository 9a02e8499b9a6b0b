// SPDX-License-Identifier: GPL-2.0-only
/* The table of page faults; see faulttable.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "modules/exposition.h"
#include "modules/histograms.h"
#include "output/json.h"
#include "pagefaults/faultevents.h"
#include "pagefaults/faulttable.h"
#include "process/procstate.h"
#include "run/bpfmap.h"
#include "run/loss.h"
#include "run/ringbuf.h"

struct row_list {
	struct fault_row *rows;
	size_t count, cap;
};

struct faulttable {
	struct areas *areas;
	struct ringbuf *events;
	struct map_pair tables;
};

static const struct faulttable defaults = {
	.tables = { .slot = "fault_tables", .first = "fault_table" },
};

/* ---- printing ---- */

static uint64_t row_total(const struct fault_row *row)
{
	return row->sum.minor + row->sum.major;
}

static int compare_rows(const void *a, const void *b)
{
	const struct fault_row *x = a, *y = b;

	if (row_total(x) != row_total(y))
		return row_total(x) < row_total(y) ? 1 : -1;
	return memcmp(&x->key, &y->key, sizeof(x->key));
}

static void print_titles(FILE *f, const struct fault_columns *columns)
{
	fprintf(f, "%8s %8s %8s", "MINOR", "MAJOR", "KERNEL");
	if (columns->process)
		fprintf(f, " %7s %s", "PID", columns->area ? "COMM            " : "COMM");
	if (columns->area)
		fputs(" KIND    FILE", f);
	fputc('\n', f);
}

static void copy_comm(char comm[TASK_COMM_LEN + 1], const struct fault_key *key)
{
	snprintf(comm, TASK_COMM_LEN + 1, "%.*s", TASK_COMM_LEN,
		 key->tgid ? key->comm : PROCESS_OTHERS);
}

static void print_process(FILE *f, const struct fault_key *key, bool is_last)
{
	char comm[TASK_COMM_LEN + 1], text[4 * TASK_COMM_LEN + 1];

	copy_comm(comm, key);
	fprintf(f, " %7" PRIu32 " %-*s", key->tgid, is_last ? 0 : TASK_COMM_LEN,
		escape_string(text, sizeof(text), escape_no_name(comm), ""));
}

static void print_area(FILE *f, const struct area_id *id, const struct areas *names)
{
	const char *name = areas_name(names, id);

	if (name && !*name) {
		fprintf(f, " %s", area_kind_name(id->kind));
		return;
	}
	fprintf(f, " %-7s ", area_kind_name(id->kind));
	escape_print(f, name ? name : "?", "");
}

void faulttable_print(FILE *f, struct fault_row *rows, size_t n,
		      const struct fault_columns *columns, const struct areas *names)
{
	if (n)
		qsort(rows, n, sizeof(*rows), compare_rows);
	print_titles(f, columns);
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "%8" PRIu64 " %8" PRIu64 " %8" PRIu64, (uint64_t)rows[i].sum.minor,
			(uint64_t)rows[i].sum.major, (uint64_t)rows[i].sum.kernel);
		if (columns->process)
			print_process(f, &rows[i].key, !columns->area);
		if (columns->area)
			print_area(f, &rows[i].key.area, names);
		fputc('\n', f);
	}
}

static void print_json_row(FILE *f, const struct fault_row *row,
			   const struct fault_columns *columns, const struct areas *names)
{
	struct json json = json_begin_line(f, "faults");
	char comm[TASK_COMM_LEN + 1];
	const char *name;

	json_uint(&json, "minor", row->sum.minor);
	json_uint(&json, "major", row->sum.major);
	json_uint(&json, "kernel", row->sum.kernel);
	if (columns->process) {
		copy_comm(comm, &row->key);
		json_uint(&json, "pid", row->key.tgid);
		json_text(&json, "comm", comm);
	}
	if (columns->area) {
		name = areas_name(names, &row->key.area);
		json_text(&json, "kind", area_kind_name(row->key.area.kind));
		json_text(&json, "file", name && *name ? name : NULL);
	}
	json_end_line(&json);
}

static void print_json(FILE *f, struct fault_row *rows, size_t n,
		       const struct fault_columns *columns, const struct areas *names)
{
	if (n)
		qsort(rows, n, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < n; i++)
		print_json_row(f, &rows[i], columns, names);
}

/* ---- the maps ---- */

static struct faulttable *table_of(const struct run *run)
{
	return run_state(run, &faulttable_module);
}

static const struct fault_columns *columns_of(const struct run *run)
{
	const struct faulttable_spec *spec = run_spec(run, &faulttable_module);

	return spec->columns(run);
}

static void leave_out_areas(const struct run *run)
{
	map_leave_out(run, "area_defs");
	map_leave_out(run, "area_scratch");
}

static int leave_out_table(struct run *run)
{
	leave_out_areas(run);
	map_pair_leave_out(run, &table_of(run)->tables);
	return 0;
}

static int configure_table(struct run *run)
{
	if (!columns_of(run)->area)
		leave_out_areas(run);
	loss_name_option(run, "entries");
	map_pair_configure(run, &table_of(run)->tables, histograms_entries(run),
			   run_has_turns(run));
	return 0;
}

static int on_definition(void *ctx, void *data, size_t size)
{
	areas_define(ctx, data, size);
	return 0;
}

static int start_table(struct run *run)
{
	struct faulttable *table = table_of(run);

	table->areas = areas_new();
	if (!columns_of(run)->area)
		return 0;
	table->events = ringbuf_watch(run, "area_defs", on_definition, table->areas);
	return table->events ? 0 : -EIO;
}

static void finish_table(struct run *run)
{
	ringbuf_close(table_of(run)->events);
	areas_free(table_of(run)->areas);
}

const struct module faulttable_module = {
	.state = DEFAULTS(defaults),
	.configure = configure_table,
	.leave_out = leave_out_table,
	.start = start_table,
	.finish = finish_table,
};

/* ---- the report ---- */

static void collect_row(const void *key, const void *value, void *arg)
{
	struct row_list *list = arg;
	struct fault_row *row;

	list->rows = mem_grow(list->rows, list->count, &list->cap, sizeof(*list->rows));
	row = &list->rows[list->count++];
	memcpy(&row->key, key, sizeof(row->key));
	memcpy(&row->sum, value, sizeof(row->sum));
}

static void add_label(struct metric_labels *labels, const char *name, const char *value)
{
	labels->names[labels->n] = name;
	labels->values[labels->n++] = value;
}

/* Zero counts create no series; only the two without a label print zeros. */
static void add_row_metrics(struct run *run, const struct fault_row *row)
{
	static const struct metric metric = { "tracelets_pagefaults_total",
					      "Page faults, minor and major." };
	const struct fault_columns *columns = columns_of(run);
	struct metric_labels labels = { { "severity" }, { "minor" }, 1 };
	struct metrics *metrics = exposition_metrics(run);
	char comm[TASK_COMM_LEN + 1], pid[16];
	const char *name;

	copy_comm(comm, &row->key);
	snprintf(pid, sizeof(pid), "%u", row->key.tgid);
	if (columns->process) {
		add_label(&labels, "pid", pid);
		add_label(&labels, "comm", comm);
	}
	if (columns->area) {
		name = areas_name(table_of(run)->areas, &row->key.area);
		add_label(&labels, "kind", area_kind_name(row->key.area.kind));
		add_label(&labels, "file", name ? name : "");
	}
	if (row->sum.minor || labels.n == 1)
		metrics_add(metrics, &metric, &labels, row->sum.minor);
	labels.values[0] = "major";
	if (row->sum.major || labels.n == 1)
		metrics_add(metrics, &metric, &labels, row->sum.major);
}

static void write_metrics(struct run *run, const struct row_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		add_row_metrics(run, &list->rows[i]);
	exposition_write(run);
}

static void print_list(struct run *run, const struct row_list *list)
{
	const struct fault_columns *columns = columns_of(run);
	const struct areas *areas = table_of(run)->areas;

	if (run->is_metrics) {
		write_metrics(run, list);
		return;
	}
	if (run->is_json) {
		run_facts_print(run);
		print_json(run->out, list->rows, list->count, columns, areas);
		return;
	}
	fputc('\n', run->out);
	histograms_print_time(run);
	faulttable_print(run->out, list->rows, list->count, columns, areas);
}

/*
 * The names of areas are read after the counts: a name may be under way while its area is counted.
 */
int faulttable_report(struct run *run)
{
	struct faulttable *table = table_of(run);
	struct row_list list = {};
	int err = map_pair_read(run, &table->tables, collect_row, &list);

	if (table->events)
		ringbuf_read(table->events);
	if (!err)
		print_list(run, &list);
	for (size_t i = 0; !run->is_peek && i < list.count; i++)
		run->recorded += row_total(&list.rows[i]);
	if (!run->is_peek)
		areas_end_report(table->areas);
	free(list.rows);
	return err;
}
