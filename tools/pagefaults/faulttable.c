// SPDX-License-Identifier: GPL-2.0-only
/* The table of page faults; see faulttable.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/bpfmap.h"
#include "output/escape.h"
#include "run/ringbuf.h"
#include "run/run_facts.h"
#include "pagefaults/faulttable.h"
#include "modules/histograms.h"
#include "output/json.h"
#include "run/loss.h"
#include "base/mem.h"

struct row_list {
	struct fault_row *rows;
	size_t count, cap;
};

static struct fault_columns shown;
static struct areas *areas;
static struct events *events;
static struct map_pair tables = { .slot = "fault_tables", .first = "fault_table" };

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

static void print_process(FILE *f, const struct fault_key *key, bool is_last)
{
	char comm[TASK_COMM_LEN + 1] = {}, text[4 * TASK_COMM_LEN + 1];

	memcpy(comm, key->comm, TASK_COMM_LEN);
	fprintf(f, " %7" PRIu32 " %-*s", key->tgid, is_last ? 0 : TASK_COMM_LEN,
		escape_string(text, sizeof(text), comm, ""));
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
	char comm[TASK_COMM_LEN + 1] = {};
	const char *name;

	json_uint(&json, "minor", row->sum.minor);
	json_uint(&json, "major", row->sum.major);
	json_uint(&json, "kernel", row->sum.kernel);
	if (columns->process) {
		memcpy(comm, row->key.comm, TASK_COMM_LEN);
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

void faulttable_print_json(FILE *f, struct fault_row *rows, size_t n,
			   const struct fault_columns *columns, const struct areas *names)
{
	if (n)
		qsort(rows, n, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < n; i++)
		print_json_row(f, &rows[i], columns, names);
}

/* ---- the maps ---- */

void faulttable_configure(const struct run *run, const struct fault_columns *columns)
{
	shown = columns ? *columns : (struct fault_columns){};
	if (!shown.area) {
		map_leave_out(run, "area_defs");
		map_leave_out(run, "area_scratch");
	}
	if (!shown.process && !shown.area) {
		map_pair_leave_out(run, &tables);
		return;
	}
	loss_set_hint("entries");
	map_pair_configure(run, &tables, hists_entries(), run->interval_ns != 0);
}

static int on_definition(void *ctx, void *data, size_t size)
{
	(void)ctx;
	areas_define(areas, data, size);
	return 0;
}

int faulttable_start(struct run *run)
{
	areas = areas_new();
	if (!shown.area)
		return 0;
	events = events_watch(run, "area_defs", on_definition, NULL);
	return events ? 0 : -EIO;
}

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

static void print_list(struct run *run, const struct row_list *list)
{
	if (run->is_json) {
		facts_print(run);
		faulttable_print_json(run->out, list->rows, list->count, &shown, areas);
		return;
	}
	fputc('\n', run->out);
	hists_print_time(run->out);
	faulttable_print(run->out, list->rows, list->count, &shown, areas);
}

/*
 * The names of areas are read after the counts: a name may be under way while its area is counted.
 */
int faulttable_report(struct run *run)
{
	struct row_list list = {};
	int err = map_pair_read(run, &tables, collect_row, &list);

	if (events)
		events_read(events);
	if (!err)
		print_list(run, &list);
	for (size_t i = 0; !run->is_peek && i < list.count; i++)
		run->recorded += row_total(&list.rows[i]);
	free(list.rows);
	if (!run->is_last)
		return err;
	events_close(events);
	areas_free(areas);
	return err;
}
