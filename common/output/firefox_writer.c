// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks in time, in the processed format of the Firefox Profiler (github.com/firefox-devtools/
 * profiler, src/types/profile.ts). Version 55 is the last one with tables per thread: each thread
 * is written, and its tables are freed, before the next one. Later versions of the profiler upgrade
 * it.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/version.h"
#include "output/json.h"
#include "output/numbering.h"
#include "output/timeline.h"
#include "output/writer.h"

#define VERSIONS "31,\"preprocessedProfileVersion\":55" /* the raw format's and this one's */
#define NONE	 UINT32_MAX

enum category {
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_JIT,
	CATEGORY_RUNTIME,
	CATEGORY_KERNEL,
	CATEGORY_BLOCKED,
	CATEGORY_RUNNABLE,
	CATEGORY_THROTTLED,
	CATEGORY_IDLE,
};

/* Names and colours of categories. The profiler requires a grey one. */
static const char *const categories[][2] = {
	[CATEGORY_OTHER] = { "Other", "grey" },
	[CATEGORY_USER] = { "User", "blue" },
	[CATEGORY_JIT] = { "Generated code", "lightblue" },
	[CATEGORY_RUNTIME] = { "Managed code", "green" },
	[CATEGORY_KERNEL] = { "Kernel", "orange" },
	[CATEGORY_BLOCKED] = { "Blocked", "purple" },
	[CATEGORY_RUNNABLE] = { "Runnable", "yellow" },
	[CATEGORY_THROTTLED] = { "Throttled", "red" },
	[CATEGORY_IDLE] = { "Idle", "transparent" },
};

static const enum category categories_of_rows[] = {
	[ROW_NONE] = CATEGORY_OTHER,	      [ROW_RUN] = CATEGORY_USER,
	[ROW_BLOCKED] = CATEGORY_BLOCKED,     [ROW_RUNNABLE] = CATEGORY_RUNNABLE,
	[ROW_THROTTLED] = CATEGORY_THROTTLED, [ROW_IDLE] = CATEGORY_IDLE,
};

/* Rows of a thread's tables. They refer to rows by number; NONE: null. */
struct func {
	uint32_t name, file, resource;
};

struct frame_row {
	uint32_t func, line, category;
};

struct stack {
	uint32_t frame, prefix;
};

/* Columns of samples and markers. */
enum field {
	SAMPLE_STACK,
	SAMPLE_TIME,
	SAMPLE_WEIGHT,
	WAIT_NAME,
	WAIT_START,
	WAIT_END,
	WAIT_PHASE,
	WAIT_CATEGORY,
	WAIT_DATA,
};

static const char *const field_names[] = { "stack",   "time",  "weight",   "name", "startTime",
					   "endTime", "phase", "category", "data" };

/* A thread being written. */
struct thread {
	const struct track *track;
	struct json *json;
	uint64_t n_rows;
	enum field field; /* the column that is printed */
	/* frames and samples are cached by address */
	struct numbering strings, resources, funcs, frames, stacks;
};

/* ---- tables ---- */

static uint32_t number_text(struct thread *t, const char *text)
{
	return text ? (uint32_t)numbering_add(&t->strings, text, strlen(text)) : NONE;
}

static uint32_t number_resource(struct thread *t, const struct image *image)
{
	uint32_t name = image ? number_text(t, image->name) : NONE;

	return image ? (uint32_t)numbering_add(&t->resources, &name, sizeof(name)) : NONE;
}

static const enum category categories_of[] = {
	[FRAME_USER] = CATEGORY_USER,	  [FRAME_INLINED] = CATEGORY_USER,
	[FRAME_JIT] = CATEGORY_JIT,	  [FRAME_RUNTIME] = CATEGORY_RUNTIME,
	[FRAME_KERNEL] = CATEGORY_KERNEL, [FRAME_MARK] = CATEGORY_OTHER,
};

static uint32_t number_frame(struct thread *t, const struct frame *frame, enum category category)
{
	struct func func = { number_text(t, frame->name), number_text(t, frame->file),
			     number_resource(t, frame->image) };
	struct frame_row row = { (uint32_t)numbering_add(&t->funcs, &func, sizeof(func)),
				 frame->line ? frame->line : NONE, category };

	return (uint32_t)numbering_add(&t->frames, &row, sizeof(row));
}

/* Adds a frame to a stack; NONE: an empty one. */
static uint32_t add_frame(struct thread *t, uint32_t stack, uint32_t frame)
{
	struct stack longer = { frame, stack };

	return (uint32_t)numbering_add(&t->stacks, &longer, sizeof(longer));
}

static uint32_t find_frame(struct thread *t, const struct frame *frame, bool is_idle)
{
	enum category category = is_idle ? CATEGORY_IDLE : categories_of[frame->kind];
	uint64_t number;

	if (!numbering_known(&t->frames, frame, &number))
		numbering_remember(&t->frames, frame, number = number_frame(t, frame, category));
	return (uint32_t)number;
}

static uint32_t find_stack(struct thread *t, const struct sample *s)
{
	uint32_t stack = NONE;
	uint64_t number;

	if (s && numbering_known(&t->stacks, s, &number))
		return (uint32_t)number;
	if (!s || !s->n_frames)
		return NONE;
	for (size_t i = 0; i < s->n_frames; i++)
		stack = add_frame(t, stack,
				  find_frame(t, sample_frame(s, i),
					     i + 1 == s->n_frames && writer_is_idle(s)));
	return (uint32_t)numbering_remember(&t->stacks, s, stack);
}

/* Returns the stack of a row, with its state as the leaf. */
static uint32_t number_row(struct thread *t, const struct row *row)
{
	uint32_t stack = find_stack(t, row->sample);
	struct frame leaf = { .kind = FRAME_MARK };
	char name[64];

	if (!row->state)
		return stack;
	snprintf(name, sizeof(name), "[%s]", row->state);
	leaf.name = name;
	return add_frame(t, stack, number_frame(t, &leaf, categories_of_rows[row->kind]));
}

/* ---- columns ---- */

static void print_ms(struct json *json, const char *key, uint64_t ns)
{
	json_number(json, key, (double)ns / NS_PER_MS);
}

/* Writes a number, or the text none for NONE. */
static void print_number(struct json *json, const char *key, uint32_t number, const char *none)
{
	if (number == NONE)
		json_raw(json, key, none);
	else
		json_uint(json, key, number);
}

/*
 * Columns of tables: each is a member of the rows (text: printed for NONE) or, with SAME, one text
 * for all rows.
 */
#define SAME SIZE_MAX

static const struct table_form {
	const char *name;
	size_t rows; /* offset in struct thread */
	struct {
		const char *name;
		size_t offset;
		const char *text;
	} columns[10];
} tables[] = {
	{ "stackTable",
	  offsetof(struct thread, stacks),
	  { { "frame", offsetof(struct stack, frame), "null" },
	    { "prefix", offsetof(struct stack, prefix), "null" } } },
	{ "frameTable",
	  offsetof(struct thread, frames),
	  { { "func", offsetof(struct frame_row, func), "null" },
	    { "line", offsetof(struct frame_row, line), "null" },
	    { "category", offsetof(struct frame_row, category), "null" },
	    { "subcategory", SAME, "0" },
	    { "address", SAME, "-1" },
	    { "inlineDepth", SAME, "0" },
	    { "innerWindowID", SAME, "0" },
	    { "nativeSymbol", SAME, "null" },
	    { "column", SAME, "null" } } },
	{ "funcTable",
	  offsetof(struct thread, funcs),
	  { { "name", offsetof(struct func, name), "null" },
	    { "fileName", offsetof(struct func, file), "null" },
	    { "resource", offsetof(struct func, resource), "-1" },
	    { "isJS", SAME, "false" },
	    { "relevantForJS", SAME, "false" },
	    { "lineNumber", SAME, "null" },
	    { "columnNumber", SAME, "null" } } },
	{ "resourceTable",
	  offsetof(struct thread, resources),
	  { { "name", 0, "null" },
	    { "lib", SAME, "null" },
	    { "host", SAME, "null" },
	    { "type", SAME, "1" /* library */ } } },
};

static void print_cell(struct json *json, const void *row, size_t offset, const char *text)
{
	uint32_t number = NONE;

	if (offset != SAME)
		memcpy(&number, (const char *)row + offset, sizeof(number));
	print_number(json, NULL, number, text);
}

static void print_table(struct thread *t, const struct table_form *form)
{
	const struct numbering *rows = (const void *)((const char *)t + form->rows);
	struct json *json = t->json;

	json_open(json, form->name, '{');
	json_uint(json, "length", numbering_count(rows));
	for (size_t i = 0; form->columns[i].name; i++) {
		json_open(json, form->columns[i].name, '[');
		for (size_t k = 0; k < numbering_count(rows); k++)
			print_cell(json, numbering_bytes(rows, k), form->columns[i].offset,
				   form->columns[i].text);
		json_close(json, ']');
	}
	json_close(json, '}');
}

static void print_strings(struct thread *t)
{
	json_open(t->json, "stringArray", '[');
	for (size_t i = 0; i < numbering_count(&t->strings); i++)
		json_text(t->json, NULL, numbering_bytes(&t->strings, i));
	json_close(t->json, ']');
}

/* ---- samples and markers ---- */

static void count_row(void *arg, const struct row *row)
{
	struct thread *t = arg;

	(void)row;
	t->n_rows++;
}

static void print_sample(void *arg, const struct row *row)
{
	struct thread *t = arg;

	if (t->field == SAMPLE_STACK)
		print_number(t->json, NULL, number_row(t, row), "null");
	else if (t->field == SAMPLE_TIME)
		print_ms(t->json, NULL, row->start_ns);
	else if (t->track->is_time)
		print_ms(t->json, NULL, row->value);
	else
		json_uint(t->json, NULL, row->value);
}

static void count_wait(void *arg, const struct row *row)
{
	struct thread *t = arg;

	t->n_rows += row->is_wait;
}

static void print_wait_data(struct thread *t, const struct row *row)
{
	const char state[] = { row->sample->state, '\0' };

	json_open(t->json, NULL, '{');
	json_text(t->json, "type", "wait");
	json_text(t->json, "state", state);
	json_open(t->json, "cause", '{');
	print_number(t->json, "stack", number_row(t, row), "null");
	json_close(t->json, '}');
	json_close(t->json, '}');
}

static void print_wait(void *arg, const struct row *row)
{
	struct thread *t = arg;
	char name[64];

	if (!row->is_wait)
		return;
	snprintf(name, sizeof(name), "waits: %s", row->state ? row->state : "idle");
	if (t->field == WAIT_NAME)
		json_uint(t->json, NULL, number_text(t, name));
	else if (t->field == WAIT_DATA)
		print_wait_data(t, row);
	else if (t->field == WAIT_PHASE)
		json_uint(t->json, NULL, 1); /* an interval */
	else if (t->field == WAIT_CATEGORY)
		json_uint(t->json, NULL, categories_of_rows[row->kind]);
	else
		print_ms(t->json, NULL, row->start_ns + (t->field == WAIT_END ? row->value : 0));
}

/* Opens a table of rows, and prints the fields from first to last, a column each. */
static void print_rows(struct thread *t, const char *name, row_fn *count, row_fn *print,
		       enum field first, enum field last)
{
	t->n_rows = 0;
	track_visit(t->track, count, t);
	json_open(t->json, name, '{');
	json_uint(t->json, "length", t->n_rows);
	for (t->field = first; t->field <= last; t->field++) {
		json_open(t->json, field_names[t->field], '[');
		track_visit(t->track, print, t);
		json_close(t->json, ']');
	}
}

/* ---- threads ---- */

static void print_thread(void *arg, const struct track *track)
{
	struct thread thread = { .track = track, .json = arg }, *t = &thread;
	const struct sample *s = track->events[track->n - 1].sample; /* has the latest name */
	struct json *json = arg;
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", s->pid);
	json_open(json, NULL, '{');
	json_text(json, "name", escape_no_name(s->comm));
	json_text(json, "processName", track->process);
	json_text(json, "pid", pid);
	json_uint(json, "tid", s->tid);
	json_raw(json, "isMainThread", s->tid == s->pid ? "true" : "false");
	print_ms(json, "registerTime", event_start(track->events));
	json_raw(json, "processType",
		 "\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
		 "\"unregisterTime\":null,\"pausedRanges\":[]");
	print_rows(t, "samples", count_row, print_sample, SAMPLE_STACK, SAMPLE_WEIGHT);
	json_text(json, "weightType", track->is_time ? "tracing-ms" : "samples");
	json_close(json, '}');
	print_rows(t, "markers", count_wait, print_wait, WAIT_NAME, WAIT_DATA);
	json_close(json, '}');
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		print_table(t, &tables[i]);
	json_raw(json, "nativeSymbols",
		 "{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[]}");
	print_strings(t);
	json_close(json, '}');
	numbering_free(&t->strings);
	numbering_free(&t->resources);
	numbering_free(&t->funcs);
	numbering_free(&t->frames);
	numbering_free(&t->stacks);
}

/* ---- the run ---- */

static void print_categories(struct json *json)
{
	json_open(json, "categories", '[');
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", categories[i][0]);
		json_text(json, "color", categories[i][1]);
		json_raw(json, "subcategories", "[\"Other\"]");
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void print_entry(struct json *json, const char *label, const char *value)
{
	if (!value)
		return;
	json_open(json, NULL, '{');
	json_text(json, "label", label);
	json_text(json, "format", "string");
	json_text(json, "value", value);
	json_close(json, '}');
}

static void print_facts(struct json *json, const struct writer_facts *facts, const char *unit)
{
	char lost[64];

	snprintf(lost, sizeof(lost), "%" PRIu64 " %s", facts->lost, unit);
	json_text(json, "product", facts->tool);
	json_text(json, "oscpu", facts->kernel);
	print_ms(json, "startTime", facts->end_unix_ns - facts->duration_ns);
	print_ms(json, "profilingStartTime", facts->cut_ns);
	print_ms(json, "profilingEndTime", facts->duration_ns);
	json_raw(json, "extra", "[{\"label\":\"tracelets\",\"entries\":");
	json->has_members = false;
	json_open(json, NULL, '[');
	print_entry(json, "Version", TRACELETS_VERSION);
	print_entry(json, "Host", facts->host);
	print_entry(json, "Kernel", facts->kernel);
	print_entry(json, "Event", facts->event);
	print_entry(json, "Lost", lost);
	fputs("]}]", json->f);
	json->has_members = true;
}

static void print_meta(struct json *json, const struct profile *p, const struct writer_facts *facts)
{
	uint64_t period_ns = timeline_period(facts);

	json_open(json, "meta", '{');
	json_raw(json, "version", VERSIONS);
	print_ms(json, "interval", period_ns ? period_ns : NS_PER_MS);
	json_raw(json, "processType",
		 "0,\"stackwalk\":1,\"importedFrom\":\"tracelets\",\"symbolicated\":true,"
		 "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true");
	json_raw(json, "markerSchema",
		 "[{\"name\":\"wait\",\"display\":[\"marker-chart\",\"marker-table\"],"
		 "\"fields\":[{\"key\":\"state\",\"label\":\"State\",\"format\":\"string\"}]}]");
	print_categories(json);
	if (facts)
		print_facts(json, facts, profile_unit(p));
	json_close(json, '}');
}

/* A note becomes the last member, so it ends the file. */
static void write_firefox(FILE *f, struct profile *p, const struct writer_style *style)
{
	struct json json = { .f = f };

	json_open(&json, NULL, '{');
	print_meta(&json, p, style->facts);
	json_raw(&json, "libs", "[]");
	json_open(&json, "threads", '[');
	timeline_order(p);
	timeline_visit(p, style, print_thread, &json);
	json_close(&json, ']');
	if (!style->facts || !style->facts->gets_note)
		json_end_line(&json);
}

static void note_firefox(FILE *f, const char *reason, const char *moment)
{
	struct json json = { .f = f, .has_members = true };

	json_open(&json, "capture", '{');
	json_text(&json, "reason", reason);
	json_text(&json, "moment", moment);
	json_close(&json, '}');
	json_end_line(&json);
}

const struct writer firefox_writer = { .name = "firefox",
				       .extension = "firefox.json",
				       .is_single = true,
				       .in_time = true,
				       .is_exact = true,
				       .write = write_firefox,
				       .note = note_firefox };
