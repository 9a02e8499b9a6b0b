// SPDX-License-Identifier: GPL-2.0-only
/* JSON: one object per line, whatever the names are. */
#include "output/histogram.h"
#include "output/json.h"
#include "../formats/samples.h"
#include "unit.h"
#include "written.h"
#include "one_profile.h"

static const struct {
	const char *value, *member;
} texts[] = {
	{ "read", "\"k\":\"read\"" },
	{ "a;b <c> & 'd' /", "\"k\":\"a;b <c> & 'd' /\"" },
	{ "gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\x9d", "\"k\":\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\x9d\"" },
	{ "", "\"k\":\"\"" },
	{ "\"\\\"", "\"k\":\"\\\"\\\\\\\"\"" },
	{ "\\u0041", "\"k\":\"\\\\u0041\"" },
	{ "a\n\033[0m\177\t", "\"k\":\"a\\u000a\\u001b[0m\\u007f\\u0009\"" },
	/* what is no UTF-8 is told in ASCII */
	{ "\xff", "\"k\":\"\\\\xff\"" },
	{ "\xe2\x82", "\"k\":\"\\\\xe2\\\\x82\"" },
	{ "\xc0\xaf", "\"k\":\"\\\\xc0\\\\xaf\"" },
	{ "\xed\xa0\x80", "\"k\":\"\\\\xed\\\\xa0\\\\x80\"" },
	{ "\xc2\x9b", "\"k\":\"\\\\xc2\\\\x9b\"" },
	{ NULL, "" }, /* not known */
};

TEST(texts_are_escaped)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK_STR(PRINTED(f,
				  {
					  struct json json = { .f = f };

					  json_text(&json, "k", texts[i].value);
				  }),
			  texts[i].member);
}

TEST(members_nest)
{
	CHECK_STR(PRINTED(f,
			  {
				  struct json json = json_begin_line(f, "t");

				  json_uint(&json, "n", UINT64_MAX);
				  json_open(&json, "list", '[');
				  json_open(&json, NULL, '{');
				  json_number(&json, "x", 0.015625);
				  json_close(&json, '}');
				  json_open(&json, NULL, '{');
				  json_close(&json, '}');
				  json_close(&json, ']');
				  json_text(&json, "end", "z");
				  json_end_line(&json);
			  }),
		  "{\"type\":\"t\",\"n\":18446744073709551615,\"list\":[{\"x\":0.015625},{}],"
		  "\"end\":\"z\"}\n");
}

static char *write_stacks(const struct writer_facts *facts)
{
	struct writer_style style = { .facts = facts };

	return written_by(&json_writer, p, &style, NULL);
}

TEST(a_stack_is_an_object)
{
	static const struct column columns[] = { { .name = "runnable", .rest = "blocked" }, {} };
	struct sample s = { "app",    42,
			    3,	      'D',
			    "at end", samples_frames + 3,
			    2,	      100,
			    { 40 },   { "/a.slice/b", "00ff", "a.slice" } };

	begin("nanoseconds", columns);
	profile_add(p, &s);
	CHECK_STR(write_stacks(NULL),
		  "{\"type\":\"stack\",\"value\":100,\"runnable\":40,\"comm\":\"app\",\"pid\":42,"
		  "\"cpu\":3,\"state\":\"D\",\"remark\":\"at end\",\"cgroup\":\"/a.slice/b\","
		  "\"container_id\":\"00ff\",\"unit_name\":\"a.slice\",\"frames\":["
		  "{\"name\":\"leap\",\"kind\":\"inlined\",\"module\":\"app\","
		  "\"path\":\"/opt/my app/app\",\"build_id\":\"00ff10\",\"offset\":4352,"
		  "\"file\":\"step.h\",\"line\":9},"
		  "{\"name\":\"ns::read(char const*)\",\"kind\":\"user\","
		  "\"symbol\":\"_ZN2ns4readEPKc\",\"module\":\"app\","
		  "\"path\":\"/opt/my app/app\",\"build_id\":\"00ff10\",\"offset\":4660}]}\n");
	CHECK_STR(written_by(&csv_writer, p, &(struct writer_style){}, NULL),
		  "type,value,runnable,comm,pid,tid,cpu,state,remark,cgroup,container_id,unit_name,"
		  "frames\n"
		  "stack,100,40,app,42,,3,D,at end,/a.slice/b,00ff,a.slice,"
		  "\"leap (step.h:9);ns::read(char const*)\"\n");
}

TEST(columns_are_keys_where_they_are_not_absent)
{
	static const struct column columns[] = { { "count", COLUMN_SUM },
						 { "youngest_ms", COLUMN_LEAST },
						 { "oldest_ms", COLUMN_MOST },
						 {} };
	struct sample s = {
		.comm = "c", .pid = 1, .cpu = -1, .value = 11, .columns = { 3, 0, 1500 }
	};

	begin("bytes", columns);
	profile_add(p, &s);
	s = (struct sample){ .comm = "c",
			     .pid = 2,
			     .cpu = -1,
			     .value = 10,
			     .columns = { 0, COLUMN_ABSENT, COLUMN_ABSENT } };
	profile_add(p, &s);
	CHECK_STR(write_stacks(NULL),
		  "{\"type\":\"stack\",\"value\":11,\"count\":3,\"youngest_ms\":0,"
		  "\"oldest_ms\":1500,\"comm\":\"c\",\"pid\":1,\"frames\":[]}\n"
		  "{\"type\":\"stack\",\"value\":10,\"comm\":\"c\",\"pid\":2,"
		  "\"frames\":[]}\n");
	CHECK_STR(written_by(&csv_writer, p, &(struct writer_style){ .has_head = true }, NULL),
		  "stack,11,3,0,1500,c,1,,,,,,,,\"\"\n"
		  "stack,10,,,,c,2,,,,,,,,\"\"\n");
}

TEST(threads_have_their_numbers)
{
	struct sample s = { .comm = "c", .pid = 1, .tid = 2, .cpu = -1, .value = 3 };

	profile_add(p, &s);
	CHECK_STR(write_stacks(NULL),
		  "{\"type\":\"stack\",\"value\":3,\"comm\":\"c\",\"pid\":1,\"tid\":2,"
		  "\"frames\":[]}\n");
}

/* No name can make a line of its own, or leave its string. */
TEST(hostile_names_stay_in_their_lines)
{
	size_t n_lines = 0;
	char *text;

	profile_free(p);
	p = samples_make("samples");
	text = write_stacks(NULL);
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		CHECK(!strncmp(line, "{\"type\":\"stack\",", 16));
		CHECK(end[-1] == '}');
		n_lines++;
		for (char *c = line; c < end; c++)
			CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
	CHECK_EQ(n_lines, profile_count(p) - 1);
}

TEST(the_run_comes_first)
{
	const struct sample_period period = { "cpu", "nanoseconds", 10101010 };
	const struct writer_facts facts = { .tool = "profile",
					    .host = "h\"",
					    .kernel = "6.1",
					    .event = "cpu-clock at 99 Hz",
					    .period = &period,
					    .end_unix_ns = 5000,
					    .duration_ns = 2000,
					    .lost = 3 };
	char *text = write_stacks(&facts);

	CHECK(strstr(text, "{\"type\":\"run\",\"tool\":\"profile\",\"version\":\"") == text);
	CHECK_HAS(text, "\"host\":\"h\\\"\",\"kernel\":\"6.1\",\"event\":\"cpu-clock at 99 Hz\","
			"\"period\":10101010,\"period_unit\":\"nanoseconds\","
			"\"start_unix_ns\":3000,\"duration_ns\":2000,\"unit\":\"samples\","
			"\"lost\":3}\n");
}

TEST(a_histogram_tells_its_buckets)
{
	struct hist *h = hist_new();

	hist_record(h, 3);
	hist_record(h, 3);
	hist_record(h, 1000);
	CHECK_STR(PRINTED(f, hist_print_json(&(struct json){ .f = f }, h, &hist_nsecs)),
		  "\"unit\":\"nsecs\",\"count\":3,\"average\":335.333333333333,\"p50\":3,"
		  "\"p90\":1000,\"p99\":1000,\"p99_9\":1000,\"max\":1000,\"buckets\":["
		  "{\"from\":3,\"below\":4,\"count\":2},"
		  "{\"from\":992,\"below\":1008,\"count\":1}]");
	hist_free(h);
}
