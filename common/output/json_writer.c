// SPDX-License-Identifier: GPL-2.0-only
/* Stacks for other programs: a line about the run, then one for each stack. */
#include "base/version.h"
#include "output/json.h"
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
		[FRAME_USER] = "user",	    [FRAME_INLINED] = "inlined", [FRAME_JIT] = "jit",
		[FRAME_RUNTIME] = "python", [FRAME_KERNEL] = "kernel",	 [FRAME_MARK] = "mark",
	};

	return names[kind];
}

static void print_frame(struct json *json, const struct frame *frame)
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

static void print_columns(struct json *json, const struct profile *p, const struct sample *s)
{
	const struct column *column;

	for (size_t i = 0; (column = profile_column(p, i)); i++)
		if (s->columns[i] != COLUMN_ABSENT &&
		    (s->columns[i] || column->merge != COLUMN_SUM))
			json_uint(json, column->name, s->columns[i]);
}

static void print_stack(FILE *f, const struct profile *p, const struct sample *s)
{
	const char state[] = { s->state, '\0' };
	struct json json = json_begin_line(f, "stack");

	json_uint(&json, "value", s->value);
	print_columns(&json, p, s);
	json_text(&json, "comm", s->comm);
	json_uint(&json, "pid", s->pid);
	if (s->tid)
		json_uint(&json, "tid", s->tid);
	if (s->cpu >= 0)
		json_uint(&json, "cpu", (uint64_t)s->cpu);
	json_text(&json, "state", s->state ? state : NULL);
	json_text(&json, "remark", s->remark);
	json_text(&json, "cgroup", s->group.cgroup);
	json_text(&json, "container_id", s->group.container_id);
	json_text(&json, "unit_name", s->group.unit);
	json_open(&json, "frames", '[');
	for (size_t i = 0; i < s->n_frames; i++)
		print_frame(&json, sample_frame(s, i));
	json_close(&json, ']');
	json_end_line(&json);
}

static void write_json(FILE *f, struct profile *p, const struct writer_style *style)
{
	if (style->facts)
		writer_print_facts(f, style->facts, profile_unit(p));
	profile_sort(p);
	for (size_t i = 0; i < profile_count(p); i++) {
		writer_pause(style, i);
		if (profile_sample(p, i)->value)
			print_stack(f, p, profile_sample(p, i));
	}
}

const struct writer json_writer = {
	.name = "json", .extension = "json", .is_exact = true, .write = write_json
};
