// SPDX-License-Identifier: GPL-2.0-only
/* Stacks as rows of a table: JSON, below a line about the run, and CSV. */
#include <string.h>

#include "base/array.h"
#include "base/version.h"
#include "output/table.h"
#include "output/writer.h"

void writer_print_facts(FILE *f, const struct writer_facts *facts, const char *unit)
{
	struct json json = json_begin_line(f, "run");

	json_text(&json, "tool", facts->tool);
	json_text(&json, "version", TRACELETS_VERSION);
	json_text(&json, "host", facts->host);
	json_text(&json, "kernel", facts->kernel);
	json_text(&json, "event", facts->event);
	if (facts->period) {
		json_uint(&json, "period", facts->period->value);
		json_text(&json, "period_unit", facts->period->unit);
	}
	json_uint(&json, "start_unix_ns", facts->end_unix_ns - facts->duration_ns);
	json_uint(&json, "duration_ns", facts->duration_ns);
	json_text(&json, "unit", unit);
	json_uint(&json, "lost", facts->lost);
	json_end_line(&json);
}

static const char *kind_name(enum frame_kind kind)
{
	static const char *const names[] = {
		[FRAME_USER] = "user",	     [FRAME_INLINED] = "inlined", [FRAME_JIT] = "jit",
		[FRAME_RUNTIME] = "runtime", [FRAME_KERNEL] = "kernel",	  [FRAME_MARK] = "mark",
	};

	return names[kind];
}

static void print_json_frame(struct json *json, const struct frame *frame)
{
	json_open(json, NULL, '{');
	json_text(json, "name", frame->name);
	json_text(json, "kind", kind_name(frame->kind));
	json_text(json, "symbol", frame->symbol);
	if (frame->image) {
		json_text(json, "module", frame->image->name);
		json_text(json, "path", frame->image->path);
		json_text(json, "build_id", frame->image->build_id);
	}
	if (frame->address)
		json_uint(json, "offset", frame->address);
	if (frame->file) {
		json_text(json, "file", frame->file);
		if (frame->line)
			json_uint(json, "line", frame->line);
	}
	json_close(json, '}');
}

void writer_print_json_frames(struct json *json, const void *data)
{
	const struct sample *s = data;

	json_open(json, "frames", '[');
	for (size_t i = 0; i < s->n_frames; i++)
		print_json_frame(json, sample_frame(s, i));
	json_close(json, ']');
}

/* Quotes become \xNN, since CSV would double them. */
void writer_print_frames(FILE *f, const void *data)
{
	static const struct writer_style plain;
	const struct sample *s = data;

	for (size_t i = 0; i < s->n_frames; i++) {
		fputs(i ? ";" : "", f);
		writer_print_frame(f, sample_frame(s, i), &plain, ";\"");
	}
}

/* The columns after the value are the profile's columns; unused ones have no name. */
static const struct table_column columns[] = {
	{ "value", .kind = CELL_UINT },
	{ .kind = CELL_UINT },
	{ .kind = CELL_UINT },
	{ .kind = CELL_UINT },
	{ .kind = CELL_UINT },
	{ .kind = CELL_UINT },
	{ .kind = CELL_UINT },
	{ "comm", .kind = CELL_COMM },
	{ "pid", .kind = CELL_UINT },
	{ "tid", .kind = CELL_UINT },
	{ "cpu", .kind = CELL_UINT },
	{ "state" },
	{ "remark" },
	{ "cgroup" },
	{ "container_id" },
	{ "unit_name" },
	{ "frames", .kind = CELL_NESTED, .print = writer_print_frames,
	  .print_json = writer_print_json_frames },
};

_Static_assert(PROFILE_COLUMNS == 6, "as many columns without a name");

static struct cell part_of(const struct profile *p, const struct sample *s, size_t i)
{
	const struct column *column = profile_column(p, i);
	bool is_zero = column && column->merge == COLUMN_SUM && !s->columns[i];

	return (struct cell){ .is_unknown = is_zero || s->columns[i] == COLUMN_ABSENT,
			      .n = s->columns[i] };
}

static void write_stack(struct table_output *to, const struct table *table, const struct profile *p,
			const struct sample *s)
{
	const char state[] = { s->state, '\0' };
	const struct cell cells[ARRAY_SIZE(columns)] = {
		{ .n = s->value },
		part_of(p, s, 0),
		part_of(p, s, 1),
		part_of(p, s, 2),
		part_of(p, s, 3),
		part_of(p, s, 4),
		part_of(p, s, 5),
		{ .text = s->comm },
		{ .n = s->pid },
		{ .is_unknown = !s->tid, .n = s->tid },
		{ .is_unknown = s->cpu < 0, .n = (uint64_t)s->cpu },
		{ .text = state },
		{ .text = s->remark },
		{ .text = s->group.cgroup },
		{ .text = s->group.container_id },
		{ .text = s->group.unit },
		{ .data = s },
	};

	table_row(to, table, cells);
}

static void write_stacks(struct table_output *to, struct profile *p,
			 const struct writer_style *style)
{
	struct table_column named[ARRAY_SIZE(columns)];
	const struct table table = { "stack", named, ARRAY_SIZE(columns), ~0U };

	memcpy(named, columns, sizeof(columns));
	for (size_t i = 0; profile_column(p, i); i++)
		named[1 + i].name = profile_column(p, i)->name;
	table_head(to, &table);
	profile_sort(p);
	for (size_t i = 0; i < profile_count(p); i++) {
		writer_pause(style, i);
		if (profile_sample(p, i)->value)
			write_stack(to, &table, p, profile_sample(p, i));
	}
}

static void write_json(FILE *f, struct profile *p, const struct writer_style *style)
{
	struct table_output to = { .f = f, .format = &json_table };

	if (style->facts)
		writer_print_facts(f, style->facts, profile_unit(p));
	write_stacks(&to, p, style);
}

static void write_csv(FILE *f, struct profile *p, const struct writer_style *style)
{
	struct table_output to = { .f = f, .format = &csv_table, .has_head = style->has_head };

	if (style->facts) {
		to.duration_ns = style->facts->duration_ns;
		to.start_unix_ns = style->facts->end_unix_ns - to.duration_ns;
	}
	write_stacks(&to, p, style);
}

static void note_json(FILE *f, const char *reason, const char *moment)
{
	struct json json = json_begin_line(f, "capture");

	json_text(&json, "reason", reason);
	json_text(&json, "moment", moment);
	json_end_line(&json);
}

const struct writer json_writer = { .name = "json",
				    .extension = "json",
				    .is_exact = true,
				    .write = write_json,
				    .note = note_json };

const struct writer csv_writer = {
	.name = "csv", .extension = "csv", .is_exact = true, .write = write_csv
};
