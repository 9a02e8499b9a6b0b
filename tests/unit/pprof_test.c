// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pprof writer: what it writes is unpacked and read back by a small decoder of the messages of
 * profile.proto, and must be the profile again.
 */
#include <zlib.h>

#include "../formats/samples.h"
#include "unit.h"
#include "written.h"

/* A message or a text, and a field of one. */
struct span {
	const unsigned char *at, *end;
};

struct field {
	uint32_t number;
	uint64_t value; /* of a number */
	struct span span;
};

#define MAX_LIST 256

struct decoded {
	unsigned char bytes[1 << 20];
	struct span whole;
	char *strings[MAX_LIST];
	struct span functions[MAX_LIST], locations[MAX_LIST], mappings[MAX_LIST]; /* by number */
	size_t n_strings, n_functions, n_locations, n_mappings, n_samples;
};

static struct decoded *d;
static struct profile *p, *back;

static uint64_t read_varint(struct span *s)
{
	uint64_t value = 0;

	for (int shift = 0; s->at < s->end && shift < 64; shift += 7) {
		value |= (uint64_t)(*s->at & 0x7f) << shift;
		if (!(*s->at++ & 0x80))
			return value;
	}
	UNIT_FAIL("a number has no end");
	return 0;
}

static bool next_field(struct span *s, struct field *f)
{
	uint64_t key;

	*f = (struct field){};
	if (s->at >= s->end)
		return false;
	key = read_varint(s);
	f->number = (uint32_t)(key >> 3);
	f->value = read_varint(s);
	if (!(key & 7))
		return true;
	CHECK_EQ(key & 7, 2);
	CHECK((uint64_t)(s->end - s->at) >= f->value);
	f->span = (struct span){ s->at, s->at + f->value };
	s->at += f->value;
	return true;
}

/* The nth field of that number. False: there are fewer. */
static bool find_field(struct span message, uint32_t number, size_t n, struct field *f)
{
	*f = (struct field){};
	while (next_field(&message, f))
		if (f->number == number && !n--)
			return true;
	*f = (struct field){};
	return false;
}

static uint64_t number_in(struct span message, uint32_t number)
{
	struct field f;

	find_field(message, number, 0, &f);
	return f.value;
}

static const char *text_in(struct span message, uint32_t number)
{
	uint64_t i = number_in(message, number);

	CHECK(i < d->n_strings);
	return i < d->n_strings ? d->strings[i] : "";
}

static void unpack(const char *packed, size_t size)
{
	z_stream z = { .next_in = (unsigned char *)packed,
		       .avail_in = (uInt)size,
		       .next_out = d->bytes,
		       .avail_out = sizeof(d->bytes) };

	CHECK_EQ(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
	do { /* gzip files may be joined */
		CHECK_EQ(inflateReset(&z), Z_OK);
		CHECK_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
	} while (z.avail_in);
	d->whole = (struct span){ d->bytes, z.next_out };
	inflateEnd(&z);
}

/* Numbers of messages must be 1, 2, 3, ... in the order in which they come. */
static void take_numbered(struct span *list, size_t *n, struct span message)
{
	CHECK_EQ(number_in(message, 1), *n + 1);
	list[++*n] = message;
}

static void decode(const char *packed, size_t size)
{
	struct span s;
	struct field f;

	d = mem_zalloc(1, sizeof(*d));
	unpack(packed, size);
	s = d->whole;
	while (next_field(&s, &f)) {
		if (f.number == 6)
			d->strings[d->n_strings++] = mem_strndup((const char *)f.span.at,
								 (size_t)(f.span.end - f.span.at));
		else if (f.number == 5)
			take_numbered(d->functions, &d->n_functions, f.span);
		else if (f.number == 4)
			take_numbered(d->locations, &d->n_locations, f.span);
		else if (f.number == 3)
			take_numbered(d->mappings, &d->n_mappings, f.span);
		else if (f.number == 2)
			d->n_samples++;
	}
}

static void forget(void)
{
	for (size_t i = 0; d && i < d->n_strings; i++)
		free(d->strings[i]);
	free(d);
	d = NULL;
	profile_free(p);
}

static void begin(const char *unit, const struct column *columns)
{
	forget();
	p = profile_new(unit, columns, NULL);
}

BEFORE_EACH()
{
	p = samples_make("samples");
	back = profile_new("samples", NULL, NULL);
}

AFTER_EACH()
{
	forget();
	profile_free(back);
}

static void write_and_decode(const struct writer_facts *facts)
{
	struct writer_style style = { .facts = facts };
	size_t size;
	char *packed = written_by(&pprof_writer, p, &style, &size);

	decode(packed, size);
}

static void add_one(const char *comm, uint32_t pid, int cpu, uint64_t value)
{
	profile_add(p, &(struct sample){ .comm = comm, .pid = pid, .cpu = cpu, .value = value });
}

/* A location's lines, innermost first, onto frames that are leaf first. */
static size_t append_lines(struct span location, struct frame *frames)
{
	struct field line;
	size_t n = 0;

	for (; find_field(location, 4, n, &line); n++) {
		struct span function = d->functions[number_in(line.span, 1)];

		frames[n].name = text_in(function, 2);
		frames[n].line = (uint32_t)number_in(line.span, 2);
		if (*text_in(function, 4))
			frames[n].file = text_in(function, 4);
	}
	return n;
}

static size_t read_frames(struct span list, struct frame *frames)
{
	struct frame leaf_first[64] = {};
	size_t n = 0;

	while (list.at < list.end)
		n += append_lines(d->locations[read_varint(&list)], leaf_first + n);
	for (size_t i = 0; i < n; i++)
		frames[i] = leaf_first[n - 1 - i];
	return n == 1 && !strcmp(frames->name, "[no frames]") ? 0 : n;
}

/* As pprof does: a label with none of a text, a number and a unit is no label. */
static bool is_label(struct span label)
{
	return number_in(label, 2) || number_in(label, 3) || number_in(label, 4);
}

static void read_labels(struct span message, struct sample *s)
{
	struct field label;

	for (size_t i = 0; find_field(message, 3, i, &label); i++) {
		const char *key = text_in(label.span, 1), *text = text_in(label.span, 2);

		if (!is_label(label.span))
			UNIT_FAIL("the label %s is lost", key);
		else if (!strcmp(key, "comm"))
			s->comm = text;
		else if (!strcmp(key, "remark"))
			s->remark = text;
		else if (!strcmp(key, "state"))
			s->state = *text;
		else if (!strcmp(key, "cgroup"))
			s->group.cgroup = text;
		else if (!strcmp(key, "container_id"))
			s->group.container_id = text;
		else if (!strcmp(key, "unit_name"))
			s->group.unit = text;
		else if (!strcmp(key, "pid"))
			s->pid = (uint32_t)number_in(label.span, 3);
		else if (!strcmp(key, "tid"))
			s->tid = (uint32_t)number_in(label.span, 3);
		else if (!strcmp(key, "cpu"))
			s->cpu = (int)number_in(label.span, 3);
		else
			UNIT_FAIL("unknown label %s", key);
	}
}

static void read_sample(size_t i, struct profile *to)
{
	struct frame frames[64] = {};
	struct sample s = { .cpu = -1, .frames = frames };
	struct field message, locations, values;

	CHECK(find_field(d->whole, 2, i, &message));
	if (find_field(message.span, 1, 0, &locations))
		s.n_frames = read_frames(locations.span, frames);
	CHECK(find_field(message.span, 2, 0, &values));
	s.value = read_varint(&values.span);
	read_labels(message.span, &s);
	profile_add(to, &s);
}

static char *text_of(struct profile *of)
{
	struct writer_style style = {};

	return written_by(&text_writer, of, &style, NULL);
}

/* Escaping what is escaped changes a backslash only. */
TEST(what_is_read_back_is_the_profile)
{
	char *expected, *read;

	write_and_decode(NULL);
	CHECK_EQ(d->n_samples, profile_count(p) - 1); /* one has the value 0 */
	for (size_t i = 0; i < d->n_samples; i++)
		read_sample(i, back);
	expected = text_of(p);
	read = text_of(back);
	CHECK_STR(read, expected);
	CHECK(strlen(read) > 4096);
}

/* Samples that differ only in their cgroup stay apart. */
TEST(labels_tell_where_a_thread_ran)
{
	static const char *const cgroups[] = { NULL, "/a/docker-00ff.scope", "/b" };
	struct sample s = { "app", 42, -1, 0, NULL, samples_frames, 4, 3 };

	begin("samples", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
		s.value++;
		s.group = (struct sample_group){ cgroups[i], i == 1 ? "00ff" : NULL,
						 i == 1 ? "docker-00ff.scope" : NULL };
		profile_add(p, &s);
	}
	write_and_decode(NULL);
	CHECK_EQ(d->n_samples, 3);
	for (size_t i = 0; i < d->n_samples; i++)
		read_sample(i, back);
	profile_sort(back);
	CHECK_EQ(profile_count(back), 3);
	CHECK_STR(profile_sample(back, 0)->group.cgroup, "/b");
	CHECK(!profile_sample(back, 0)->group.container_id);
	CHECK_STR(profile_sample(back, 1)->group.cgroup, "/a/docker-00ff.scope");
	CHECK_STR(profile_sample(back, 1)->group.container_id, "00ff");
	CHECK_STR(profile_sample(back, 1)->group.unit, "docker-00ff.scope");
	CHECK(!profile_sample(back, 2)->group.cgroup);
}

/* Label n of the first sample: its key, and the text in another of its fields. */
static void check_label(size_t n, const char *key, uint32_t number, const char *text)
{
	struct field message, label;

	CHECK(find_field(d->whole, 2, 0, &message));
	CHECK(find_field(message.span, 3, n, &label) && is_label(label.span));
	CHECK_STR(text_in(label.span, 1), key);
	CHECK_STR(text_in(label.span, number), text);
}

TEST(the_first_cpu_and_a_thread_without_a_name_have_labels_too)
{
	begin("samples", NULL);
	add_one("", 0, 0, 1);
	write_and_decode(NULL);
	check_label(0, "comm", 2, "[no name]");
	check_label(1, "pid", 4, "pid");
	check_label(2, "cpu", 4, "cpu");
}

TEST(all_is_told_once)
{
	write_and_decode(NULL);
	CHECK_STR(d->strings[0], "");
	for (size_t i = 0; i < d->n_strings; i++)
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(d->strings[i], d->strings[j]));
	CHECK_EQ(d->n_mappings, 3);
	CHECK_EQ(d->n_locations,
		 6 + 2 + 4 + 1 + 1); /* of each stack, those not yet known; 2 are split */
}

/* The location of "leap", which is in "step", which is in "run". */
TEST(inlined_frames_share_their_callers_location)
{
	size_t n_found = 0;
	struct frame lines[8];

	write_and_decode(NULL);
	for (size_t i = 1; i <= d->n_locations; i++) {
		if (number_in(d->locations[i], 3) != 0x1100)
			continue;
		n_found++;
		memset(lines, 0, sizeof(lines));
		CHECK_EQ(append_lines(d->locations[i], lines), 3);
		CHECK_STR(lines[0].name, "leap");
		CHECK_STR(lines[1].name, "step");
		CHECK_STR(lines[2].name, "run");
		CHECK_EQ(lines[2].line, 40);
	}
	CHECK_EQ(n_found, 1);
}

/* Returns the message that has that text in a field. */
static struct span with_text(const struct span *list, size_t n, uint32_t number, const char *text)
{
	for (size_t i = 1; i <= n; i++)
		if (!strcmp(text_in(list[i], number), text))
			return list[i];
	UNIT_FAIL("nothing has %s", text);
	return (struct span){};
}

TEST(mappings_tell_build_ids_and_functions_the_linkers_names)
{
	write_and_decode(NULL);
	for (size_t i = 1; i <= d->n_mappings; i++) {
		CHECK_EQ(number_in(d->mappings[i], 2), 0);
		CHECK(number_in(d->mappings[i], 3) == UINT64_MAX);
	}
	CHECK_STR(text_in(with_text(d->mappings, d->n_mappings, 5, "/opt/my app/app"), 6),
		  "00ff10");
	CHECK_STR(text_in(with_text(d->functions, d->n_functions, 2, "ns::read(char const*)"), 3),
		  "_ZN2ns4readEPKc");
}

static void check_type(size_t i, const char *type, const char *unit)
{
	struct field f;

	CHECK(find_field(d->whole, 1, i, &f));
	CHECK_STR(text_in(f.span, 1), type);
	CHECK_STR(text_in(f.span, 2), unit);
}

TEST(samples_are_also_told_as_time)
{
	const struct sample_period period = { "cpu", "nanoseconds", 10101010 };
	const struct writer_facts facts = { .tool = "profile",
					    .host = "h",
					    .kernel = "k",
					    .event = "e",
					    .period = &period,
					    .end_unix_ns = 5000,
					    .duration_ns = 2000,
					    .lost = 3 };
	struct field f;

	begin("samples", NULL);
	add_one("c", 0, -1, 7);
	write_and_decode(&facts);
	check_type(0, "samples", "count");
	check_type(1, "cpu", "nanoseconds");
	CHECK(find_field(d->whole, 2, 0, &f) && find_field(f.span, 2, 0, &f));
	CHECK_EQ(read_varint(&f.span), 7);
	CHECK_EQ(read_varint(&f.span), 70707070);
	CHECK(f.span.at == f.span.end);
	CHECK_EQ(number_in(d->whole, 9), 3000);
	CHECK_EQ(number_in(d->whole, 10), 2000);
	CHECK_EQ(number_in(d->whole, 12), 10101010);
}

TEST(values_can_have_a_name_of_their_own)
{
	const struct writer_facts facts = {
		.tool = "profile", .host = "h", .kernel = "k", .type = "wall"
	};

	begin("nanoseconds", NULL);
	add_one("c", 0, -1, 7);
	write_and_decode(&facts);
	check_type(0, "wall", "nanoseconds");
}

TEST(units_have_the_names_that_pprof_knows)
{
	static const char *const units[][3] = {
		{ "nanoseconds", "off_cpu", "nanoseconds" },
		{ "faults", "faults", "count" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		struct field f;

		begin(units[i][0], NULL);
		write_and_decode(NULL);
		check_type(0, units[i][1], units[i][2]);
		CHECK(!find_field(d->whole, 1, 1, &f));
	}
}

static void check_values(size_t sample, const uint64_t values[3])
{
	struct field f;

	CHECK(find_field(d->whole, 2, sample, &f) && find_field(f.span, 2, 0, &f));
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(read_varint(&f.span), values[i]);
	CHECK(f.span.at == f.span.end);
}

/* Columns without any value have no type. A sample may have values in columns only. */
TEST(other_values_come_before_the_value)
{
	static const struct column columns[] = {
		{ .name = "none", .pprof = "none" },
		{ .name = "alloc", .pprof = "alloc_space", .pprof_unit = "bytes" },
		{ .name = "count", .pprof = "inuse_objects" },
		{ .name = "oldest_ms", COLUMN_MOST },
		{},
	};
	static const struct sample samples[] = {
		{ .comm = "c", .cpu = -1, .value = 701, .columns = { 0, 999, 7, 900 } },
		{ .comm = "freed", .cpu = -1, .columns = { 0, 50, 0, COLUMN_ABSENT } },
		{ .comm = "nothing", .cpu = -1, .columns = { 0, 0, 0, COLUMN_ABSENT } },
	};
	struct field f;

	begin("bytes", columns);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		profile_add(p, &samples[i]);
	write_and_decode(NULL);
	check_type(0, "alloc_space", "bytes");
	check_type(1, "inuse_objects", "count");
	check_type(2, "inuse_space", "bytes");
	check_values(0, (const uint64_t[]){ 999, 7, 701 });
	check_values(1, (const uint64_t[]){ 50, 0, 0 });
	CHECK(!find_field(d->whole, 2, 2, &f));
}

/* The note is a comment, in a member of its own behind the profile's. */
TEST(a_note_is_the_last_comment)
{
	struct writer_facts facts = {
		.tool = "profile", .host = "h", .kernel = "k", .gets_note = true
	};
	struct writer_style style = { .facts = &facts };
	uint64_t last = 0;
	size_t size = 0;
	struct field f;
	char *packed = PRINTED(file, {
		pprof_writer.write(file, p, &style);
		writer_note(file, "pprof", "cpu>90%: 97 %", 1800000000123456789ULL);
		fflush(file);
		size = (size_t)ftello(file);
	});

	decode(packed, size);
	for (size_t i = 0; find_field(d->whole, 13, i, &f); i++)
		while (f.span.at < f.span.end)
			last = read_varint(&f.span);
	CHECK_EQ(last, d->n_strings - 1);
	CHECK_STR(d->strings[last], "captured at 2027-01-15T08:00:00.123Z: cpu>90%: 97 %");
}
