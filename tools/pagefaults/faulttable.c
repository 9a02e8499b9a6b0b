// SPDX-License-Identifier: GPL-2.0-only
/* The table of page faults; see faulttable.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "modules/numbers.h"
#include "modules/histograms.h"
#include "output/table.h"
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
	struct areas areas;
	struct ringbuf *events;
	struct map_pair tables;
};

static const struct faulttable defaults = {
	.tables = { .slot = "fault_tables", .first = "fault_table" },
};

/* ---- the table ---- */

static uint64_t row_total(const struct fault_row *row)
{
	return row->sum.minor + row->sum.major;
}

static int compare_rows(const void *a, const void *b)
{
	const struct fault_row *x = a, *y = b;

	return order_u64(row_total(y), row_total(x)) ?: memcmp(&x->key, &y->key, sizeof(x->key));
}

static void copy_comm(char comm[TASK_COMM_LEN + 1], const struct fault_key *key)
{
	snprintf(comm, TASK_COMM_LEN + 1, "%.*s", TASK_COMM_LEN,
		 key->tgid ? key->comm : PROCESS_OTHERS);
}

static const struct metric faults_metric = { "tracelets_pagefaults_total",
					     "Page faults, minor and major." };

enum { MINOR, MAJOR, KERNEL, PID, COMM, KIND, AREA_NAME };

static const struct table_column fault_columns[] = {
	[MINOR] = { "minor", "MINOR", CELL_UINT, 8, .metric = &faults_metric, .severity = "minor" },
	[MAJOR] = { "major", "MAJOR", CELL_UINT, 8, .metric = &faults_metric, .severity = "major" },
	[KERNEL] = { "kernel", "KERNEL", CELL_UINT, 8 },
	[PID] = { "pid", "PID", CELL_UINT, 7, .label = "pid" },
	[COMM] = { "comm", "COMM", CELL_COMM, -16, .label = "comm" },
	[KIND] = { "kind", "KIND", CELL_TEXT, -7, .label = "kind" },
	[AREA_NAME] = { "file", "FILE", CELL_TEXT, -4, .label = "file" },
};

static void write_row(struct table_output *to, const struct table *table,
		      const struct fault_row *row, const struct areas *names)
{
	char comm[TASK_COMM_LEN + 1];
	const struct cell cells[] = {
		[MINOR] = { .n = row->sum.minor },
		[MAJOR] = { .n = row->sum.major },
		[KERNEL] = { .n = row->sum.kernel },
		[PID] = { .n = row->key.tgid },
		[COMM] = { .text = comm },
		[KIND] = { .text = area_kind_name(row->key.area.kind) },
		[AREA_NAME] = { .text = areas_name(names, &row->key.area) },
	};

	copy_comm(comm, &row->key);
	table_row(to, table, cells);
}

void faulttable_write(struct table_output *to, struct fault_row *rows, size_t n,
		      const struct fault_columns *columns, const struct areas *names)
{
	struct table table = {
		.type = "faults",
		.columns = fault_columns,
		.n = ARRAY_SIZE(fault_columns),
		.shown = TABLE_COLUMN(MINOR) | TABLE_COLUMN(MAJOR) | TABLE_COLUMN(KERNEL),
	};

	if (columns->process)
		table.shown |= TABLE_COLUMN(PID) | TABLE_COLUMN(COMM);
	if (columns->area)
		table.shown |= TABLE_COLUMN(KIND) | TABLE_COLUMN(AREA_NAME);
	SORT(rows, n, compare_rows);
	table_head(to, &table);
	for (size_t i = 0; i < n; i++)
		write_row(to, &table, &rows[i], names);
}

/* ---- the maps ---- */

DEFINE_STATE(struct faulttable, table_of, faulttable_module)

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

	if (!columns_of(run)->area)
		return 0;
	table->events = ringbuf_watch(run, "area_defs", on_definition, &table->areas);
	return table->events ? 0 : -EIO;
}

static void finish_table(struct run *run)
{
	ringbuf_close(table_of(run)->events);
	areas_clear(&table_of(run)->areas);
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

	row = MEM_APPEND(list->rows, list->count, list->cap);
	memcpy(&row->key, key, sizeof(row->key));
	memcpy(&row->sum, value, sizeof(row->sum));
}

static void write_list(struct run *run, const struct row_list *list)
{
	struct table_output *to = numbers_begin(run);

	if (to->format == &text_table) {
		fputc('\n', run->out);
		histograms_print_time(run);
	}
	faulttable_write(to, list->rows, list->count, columns_of(run), &table_of(run)->areas);
	numbers_end(run);
}

/* Reads names of areas after the counts: names may be in the ring buffer until then. */
int faulttable_report(struct run *run)
{
	struct faulttable *table = table_of(run);
	struct row_list list = {};
	int err = map_pair_read(run, &table->tables, collect_row, &list);

	if (table->events)
		ringbuf_read(table->events);
	if (!err)
		write_list(run, &list);
	for (size_t i = 0; !run->is_peek && i < list.count; i++)
		run->recorded += row_total(&list.rows[i]);
	if (!run->is_peek)
		areas_end_report(&table->areas);
	free(list.rows);
	return err;
}
