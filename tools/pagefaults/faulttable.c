// SPDX-License-Identifier: GPL-2.0-only
/* The table of page faults; see faulttable.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/order.h"
#include "modules/histograms.h"
#include "modules/numbers.h"
#include "output/table.h"
#include "pagefaults/faulttable.h"
#include "process/procstate.h"
#include "run/bpfmap.h"
#include "run/loss.h"
#include "run/ringbuf.h"

/* ---- names of areas ---- */

/* Looked up by a hash of the id; if the stored id differs, the name is unknown. */

struct area {
	struct area_id id;
	char *name;
	uint32_t last_used; /* number of the last report that used or defined the area */
};

static void free_area(void *value)
{
	struct area *area = value;

	free(area->name);
	free(area);
}

void areas_clear(struct areas *areas)
{
	idmap_free(&areas->by_hash, free_area);
	*areas = (struct areas){};
}

static uint64_t hash_id(const struct area_id *id)
{
	uint64_t hash = hash_add(hash_add(0, id->ino), (uint64_t)id->dev << 32 | id->generation);

	return hash_add(hash, id->kind) | 1;
}

static bool is_sound(const struct area_def *def, size_t size)
{
	return size >= offsetof(struct area_def, text) && def->n_bytes <= sizeof(def->text) &&
	       def->n_bytes <= size - offsetof(struct area_def, text) &&
	       (!def->n_bytes || !def->text[def->n_bytes - 1]);
}

/* Returns the last null-terminated name in text[0..end); end > 0. */
static const char *last_name(const char *text, size_t end)
{
	size_t start = end - 1;

	while (start && text[start - 1])
		start--;
	return text + start;
}

static char *join_path(const struct area_def *def)
{
	char *path = mem_zalloc(1, def->n_bytes + sizeof("... (deleted)"));
	size_t end = def->n_bytes, used = 0;
	const char *name;

	if (def->is_cut)
		used += (size_t)sprintf(path, "...");
	while (end) {
		name = last_name(def->text, end);
		end = (size_t)(name - def->text);
		used += (size_t)sprintf(path + used, "/%s", name);
	}
	if (def->is_deleted)
		sprintf(path + used, " (deleted)");
	return path;
}

void areas_define(struct areas *areas, const struct area_def *def, size_t size)
{
	struct area *area;
	uint64_t hash;

	if (!is_sound(def, size))
		return;
	hash = hash_id(&def->id);
	area = idmap_find(&areas->by_hash, hash);
	if (!area) {
		area = mem_zalloc(1, sizeof(*area));
		idmap_add(&areas->by_hash, hash, area);
	}
	free(area->name);
	area->id = def->id;
	area->last_used = areas->n_reports;
	area->name = def->id.kind == AREA_SPECIAL ? mem_strndup(def->text, def->n_bytes)
						  : join_path(def);
}

const char *areas_name(const struct areas *areas, const struct area_id *id)
{
	struct area *area;

	if (!area_has_name(id))
		return "";
	area = idmap_find(&areas->by_hash, hash_id(id));
	if (!area || memcmp(&area->id, id, sizeof(*id)) != 0)
		return NULL;
	area->last_used = areas->n_reports;
	return area->name;
}

static bool is_kept(void *value, void *arg)
{
	const struct areas *areas = arg;
	struct area *area = value;

	if (area->last_used + 1 >= areas->n_reports)
		return true;
	free_area(area);
	return false;
}

void areas_end_report(struct areas *areas)
{
	areas->n_reports++;
	idmap_keep(&areas->by_hash, is_kept, areas);
}

const char *area_kind_name(uint32_t kind)
{
	static const char *const names[AREA_KINDS] = {
		[AREA_UNKNOWN] = "unknown", [AREA_ANON] = "anon",	[AREA_HEAP] = "heap",
		[AREA_STACK] = "stack",	    [AREA_SPECIAL] = "special", [AREA_FILE] = "file",
		[AREA_SHMEM] = "shmem",	    [AREA_HUGE] = "huge",
	};

	return kind < AREA_KINDS ? names[kind] : names[AREA_UNKNOWN];
}

/* ---- rows ---- */

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
