// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks in pprof's format: a gzip'd message of profile.proto (github.com/google/pprof, proto/).
 * Each distinct string, function, mapping and location is written once and has a number; equal
 * bytes have the same number.
 *
 * Addresses are ELF virtual addresses of a file, not of a process, so each mapping covers all
 * memory from 0.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/version.h"
#include "output/numbering.h"
#include "output/protobuf.h"
#include "output/writer.h"

/* Field numbers of profile.proto's messages that are used. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
};

enum value_type_field { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3, LABEL_UNIT = 4 };

#define OWN_NUMBER 1 /* field of a message's own number, for references from other messages */

enum mapping_field {
	MAPPING_LIMIT = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
};

enum location_field { LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum line_field { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum function_field { FUNCTION_NAME = 2, FUNCTION_SYMBOL = 3, FUNCTION_FILE = 4 };

struct pprof {
	struct protobuf out;
	/* numbers of frames, images and texts are cached by address */
	struct numbering strings, functions, mappings, locations;
	uint64_t *list; /* numbers of a sample's locations */
	size_t n_list, list_cap;
	const char *type; /* type of the values; NULL: derived from their unit */
	const struct profile *profile;
	const struct sample_period *period; /* NULL: nothing was sampled */
	bool is_written[PROFILE_COLUMNS];
};

/* Usual pprof type names for units. */
static const struct unit_type {
	const char *unit, *type;
} unit_types[] = {
	{ "nanoseconds", "off_cpu" },
	{ "microseconds", "off_cpu" },
	{ "bytes", "inuse_space" },
};

/* ---- numbers of messages ---- */

static uint64_t number_text(struct pprof *p, const char *text)
{
	char *safe = mem_escape(text);
	size_t n = numbering_count(&p->strings);
	uint64_t number = numbering_add(&p->strings, safe, strlen(safe));

	if (number == n)
		protobuf_bytes(&p->out, PROFILE_STRING, safe, strlen(safe));
	free(safe);
	return number;
}

/*
 * Returns the number of a message, and writes the message if it is new. Frees it. Numbers start at
 * 1: 0 means none.
 */
static uint64_t number_message(struct pprof *p, struct numbering *t, enum profile_field field,
			       struct protobuf *message)
{
	size_t n = numbering_count(t);
	uint64_t number = numbering_add(t, message->bytes, message->n) + 1;

	if (number > n) {
		protobuf_uint(message, OWN_NUMBER, number);
		protobuf_message(&p->out, field, message);
	}
	protobuf_free(message);
	return number;
}

/* Returns the number of a frame's text, which is looked up by its address. text NULL: "". */
static uint64_t number_shared_text(struct pprof *p, const char *text)
{
	uint64_t number = 0;

	if (!text || numbering_known(&p->strings, text, &number))
		return number;
	return numbering_remember(&p->strings, text, number_text(p, text));
}

/* ---- frames ---- */

static uint64_t number_function(struct pprof *p, const struct frame *frame)
{
	struct protobuf function = {};

	protobuf_uint(&function, FUNCTION_NAME, number_shared_text(p, frame->name));
	protobuf_uint(&function, FUNCTION_SYMBOL,
		      number_shared_text(p, frame->symbol ? frame->symbol : frame->name));
	protobuf_uint(&function, FUNCTION_FILE, number_shared_text(p, frame->file));
	return number_message(p, &p->functions, PROFILE_FUNCTION, &function);
}

/*
 * Writes a mapping. Declares all names resolved: pprof must not read the local file, which may
 * differ. Copies the image's texts: its path may be replaced while the profile is written.
 */
static uint64_t number_mapping(struct pprof *p, const struct image *image)
{
	const char *path = image->path ? image->path : image->name;
	struct protobuf mapping = {};

	protobuf_uint(&mapping, MAPPING_LIMIT, UINT64_MAX);
	protobuf_uint(&mapping, MAPPING_FILE, number_text(p, path));
	if (image->build_id)
		protobuf_uint(&mapping, MAPPING_BUILD_ID, number_text(p, image->build_id));
	for (uint32_t field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINED; field++)
		protobuf_uint(&mapping, field, 1);
	return number_message(p, &p->mappings, PROFILE_MAPPING, &mapping);
}

static uint64_t find_mapping(struct pprof *p, const struct image *image)
{
	uint64_t number;

	if (numbering_known(&p->mappings, image, &number))
		return number;
	return numbering_remember(&p->mappings, image, number_mapping(p, image));
}

static void add_line(struct pprof *p, struct protobuf *location, const struct frame *frame)
{
	struct protobuf line = {};

	protobuf_uint(&line, LINE_FUNCTION, number_function(p, frame));
	protobuf_uint(&line, LINE_NUMBER, frame->line);
	protobuf_message(location, LOCATION_LINE, &line);
	protobuf_free(&line);
}

static bool is_same_place(const struct frame *a, const struct frame *b)
{
	return a->image == b->image && a->address == b->address;
}

/*
 * Returns the number of a location: the frame at *i and, if it is inlined, the frames that it is
 * inlined in. Moves *i to the last of them.
 */
static uint64_t number_location(struct pprof *p, const struct sample *s, size_t *i)
{
	const struct frame *frame = sample_frame(s, *i);
	struct protobuf location = {};

	if (frame->image)
		protobuf_uint(&location, LOCATION_MAPPING, find_mapping(p, frame->image));
	protobuf_uint(&location, LOCATION_ADDRESS, frame->address);
	add_line(p, &location, frame);
	while (sample_frame(s, *i)->kind == FRAME_INLINED && *i > 0 &&
	       is_same_place(frame, sample_frame(s, *i - 1)))
		add_line(p, &location, sample_frame(s, --*i));
	return number_message(p, &p->locations, PROFILE_LOCATION, &location);
}

/*
 * Returns the location's number as number_location(), cached for frames that are not inlined: a
 * location with inlined frames depends on several frames.
 */
static uint64_t find_location(struct pprof *p, const struct sample *s, size_t *i)
{
	const struct frame *frame = sample_frame(s, *i);
	uint64_t number;

	if (frame->kind == FRAME_INLINED)
		return number_location(p, s, i);
	if (numbering_known(&p->locations, frame, &number))
		return number;
	return numbering_remember(&p->locations, frame, number_location(p, s, i));
}

/* ---- samples ---- */

/*
 * Adds a label; text NULL: a number. Its unit is the key, which pprof would use anyway, because
 * pprof drops a 0 without a unit.
 */
static void add_label(struct pprof *p, struct protobuf *sample, const char *key, const char *text,
		      uint64_t number)
{
	struct protobuf label = {};
	uint64_t key_number = number_text(p, key);

	protobuf_uint(&label, LABEL_KEY, key_number);
	protobuf_uint(&label, LABEL_TEXT, text ? number_text(p, text) : 0);
	protobuf_uint(&label, LABEL_NUMBER, number);
	protobuf_uint(&label, LABEL_UNIT, text ? 0 : key_number);
	protobuf_message(sample, SAMPLE_LABEL, &label);
	protobuf_free(&label);
}

static void add_text_label(struct pprof *p, struct protobuf *sample, const char *key,
			   const char *text)
{
	if (text)
		add_label(p, sample, key, text, 0);
}

static void add_labels(struct pprof *p, struct protobuf *sample, const struct sample *s)
{
	const char state[] = { s->state, '\0' };

	add_label(p, sample, "comm", escape_no_name(s->comm), 0);
	add_label(p, sample, "pid", NULL, s->pid);
	if (s->tid)
		add_label(p, sample, "tid", NULL, s->tid);
	if (s->cpu >= 0)
		add_label(p, sample, "cpu", NULL, (uint64_t)s->cpu);
	if (s->state)
		add_label(p, sample, "state", state, 0);
	add_text_label(p, sample, "remark", s->remark);
	add_text_label(p, sample, "cgroup", s->group.cgroup);
	add_text_label(p, sample, "container_id", s->group.container_id);
	add_text_label(p, sample, "unit_name", s->group.unit);
}

static void list_location(struct pprof *p, uint64_t location)
{
	*MEM_APPEND(p->list, p->n_list, p->list_cap) = location;
}

static void list_lone_frame(struct pprof *p, const struct frame *frame)
{
	const struct sample s = { .frames = frame, .n_frames = 1 };
	size_t first = 0;

	list_location(p, number_location(p, &s, &first));
}

/*
 * Lists a sample's locations. A sample without frames gets one: pprof drops samples without
 * locations, also from totals.
 */
static void list_locations(struct pprof *p, const struct sample *s)
{
	static const struct frame none = { .name = "[no frames]", .kind = FRAME_MARK };

	p->n_list = 0;
	for (size_t i = s->n_frames; i-- > 0;)
		list_location(p, find_location(p, s, &i));
	if (!s->n_frames)
		list_lone_frame(p, &none);
}

static void add_sample(struct pprof *p, const struct sample *s)
{
	struct protobuf sample = {};
	uint64_t values[PROFILE_COLUMNS + 2];
	size_t n = 0;

	for (size_t i = 0; i < PROFILE_COLUMNS; i++)
		if (p->is_written[i])
			values[n++] = s->columns[i];
	values[n++] = s->value;
	if (p->period)
		values[n++] = s->value * p->period->value;
	list_locations(p, s);
	protobuf_list(&sample, SAMPLE_LOCATION, p->list, p->n_list);
	protobuf_list(&sample, SAMPLE_VALUE, values, n);
	add_labels(p, &sample, s);
	protobuf_message(&p->out, PROFILE_SAMPLE, &sample);
	protobuf_free(&sample);
}

/* ---- the run ---- */

static void add_value_type(struct pprof *p, enum profile_field field, const char *type,
			   const char *unit)
{
	struct protobuf value = {};

	protobuf_uint(&value, VALUE_TYPE, number_text(p, type));
	protobuf_uint(&value, VALUE_UNIT, number_text(p, unit));
	protobuf_message(&p->out, field, &value);
	protobuf_free(&value);
}

/* Chooses the columns that are written: with a type, and a value in any sample. */
static void choose_columns(struct pprof *p)
{
	const struct column *column;

	for (size_t i = 0; (column = profile_column(p->profile, i)); i++)
		for (size_t k = 0; column->pprof && k < profile_count(p->profile); k++)
			p->is_written[i] |= profile_sample(p->profile, k)->columns[i];
}

static void add_value_types(struct pprof *p, const char *unit)
{
	for (size_t i = 0; i < PROFILE_COLUMNS; i++) {
		const struct column *column = profile_column(p->profile, i);

		if (p->is_written[i])
			add_value_type(p, PROFILE_SAMPLE_TYPE, column->pprof,
				       column->pprof_unit ? column->pprof_unit : "count");
	}
	add_value_type(p, PROFILE_SAMPLE_TYPE, p->type ? p->type : unit, p->type ? unit : "count");
	if (!p->period)
		return;
	add_value_type(p, PROFILE_SAMPLE_TYPE, p->period->type, p->period->unit);
	add_value_type(p, PROFILE_PERIOD_TYPE, p->period->type, p->period->unit);
	protobuf_uint(&p->out, PROFILE_PERIOD, p->period->value);
}

/* Adds a comment; frees the text. */
static void add_comment(struct pprof *p, char *text)
{
	uint64_t number = number_text(p, text);

	protobuf_list(&p->out, PROFILE_COMMENT, &number, 1);
	free(text);
}

static void add_facts(struct pprof *p, const struct writer_facts *facts, const char *unit)
{
	uint64_t note;

	protobuf_uint(&p->out, PROFILE_TIME_NS, facts->end_unix_ns - facts->duration_ns);
	protobuf_uint(&p->out, PROFILE_DURATION_NS, facts->duration_ns);
	add_comment(p, mem_printf("%s (tracelets) %s", facts->tool, TRACELETS_VERSION));
	add_comment(p, mem_printf("%s, Linux %s", facts->host, facts->kernel));
	if (facts->event)
		add_comment(p, mem_strdup(facts->event));
	add_comment(p, mem_printf("lost: %" PRIu64 " %s", facts->lost, unit));
	note = numbering_count(&p->strings); /* number of the next text: the note */
	if (facts->gets_note)
		protobuf_list(&p->out, PROFILE_COMMENT, &note, 1);
}

/*
 * Compared with the default level, this one takes less than half of the time, for 5 % more bytes.
 */
#define GZIP_LEVEL 3

static void write_gzip(FILE *f, const struct protobuf *pb)
{
	const int gzip = 16 + MAX_WBITS;
	z_stream z = { .next_in = pb->bytes, .avail_in = (uInt)pb->n };
	unsigned char buf[16384] = {};
	int status = Z_OK;

	if (pb->n > UINT_MAX || deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, gzip, MAX_MEM_LEVEL,
					     Z_DEFAULT_STRATEGY) != Z_OK) {
		msg_error("pprof profile: compression failed (too large, or no memory)");
		return;
	}
	while (status == Z_OK) {
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		status = deflate(&z, Z_FINISH);
		fwrite(buf, 1, sizeof(buf) - z.avail_out, f);
	}
	deflateEnd(&z);
}

static const char *type_of(const char *unit, const struct writer_facts *facts)
{
	if (facts && facts->type)
		return facts->type;
	for (size_t i = 0; i < ARRAY_SIZE(unit_types); i++)
		if (!strcmp(unit_types[i].unit, unit))
			return unit_types[i].type;
	return NULL;
}

static bool has_values(const struct pprof *p, const struct sample *s)
{
	bool has = s->value;

	for (size_t i = 0; i < PROFILE_COLUMNS; i++)
		has |= p->is_written[i] && s->columns[i];
	return has;
}

static void write_pprof(FILE *f, struct profile *profile, const struct writer_style *style)
{
	struct pprof p = { .profile = profile,
			   .type = type_of(profile_unit(profile), style->facts),
			   .period = style->facts ? style->facts->period : NULL };

	choose_columns(&p);
	number_text(&p, ""); /* the format requires "" as number 0 */
	add_value_types(&p, profile_unit(profile));
	profile_sort(profile);
	for (size_t i = 0; i < profile_count(profile); i++)
		if (has_values(&p, profile_sample(profile, i)))
			add_sample(&p, profile_sample(profile, i));
	if (style->facts)
		add_facts(&p, style->facts, profile_unit(profile));
	write_gzip(f, &p.out);
	protobuf_free(&p.out);
	numbering_free(&p.strings);
	numbering_free(&p.functions);
	numbering_free(&p.mappings);
	numbering_free(&p.locations);
	free(p.list);
}

/*
 * Appends the text of the last comment. Joined messages are one message (protobuf's encoding), as
 * joined gzip files are one file (RFC 1952).
 */
static void note_pprof(FILE *f, const char *reason, const char *moment)
{
	char *note = mem_printf("captured at %s: %s", moment, reason), *safe = mem_escape(note);
	struct protobuf more = {};

	protobuf_bytes(&more, PROFILE_STRING, safe, strlen(safe));
	write_gzip(f, &more);
	protobuf_free(&more);
	free(safe);
	free(note);
}

const struct writer pprof_writer = { .name = "pprof",
				     .extension = "pb.gz",
				     .is_single = true,
				     .is_exact = true,
				     .write = write_pprof,
				     .note = note_pprof };
