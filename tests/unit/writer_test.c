// SPDX-License-Identifier: GPL-2.0-only
/* The writers for people (text) and for flame graphs (folded), and how they are found. */
#include "output/folded.h"

#include "unit.h"
#include "written.h"

static const struct writer_style plain, delimiter = { .delimiter = true },
					annotate = { .annotate = true },
					both = { .delimiter = true, .annotate = true };

#define FRAMES(...)                                      \
	.frames = (const struct frame[]){ __VA_ARGS__ }, \
	.n_frames = sizeof((const struct frame[]){ __VA_ARGS__ }) / sizeof(struct frame)
#define USER(n)               \
	{                     \
		n, FRAME_USER \
	}
#define KERNEL(n)               \
	{                       \
		n, FRAME_KERNEL \
	}
#define MARK(n)               \
	{                     \
		n, FRAME_MARK \
	}

static char *write_samples(const struct writer *w, const struct sample *samples, size_t n,
			   const struct writer_style *style)
{
	struct profile *p = profile_new("samples", NULL, NULL);
	char *text;

	for (size_t i = 0; i < n; i++)
		profile_add(p, &samples[i]);
	text = written_by(w, p, style, NULL);
	profile_free(p);
	return text;
}

static void check_written(const struct writer *w, const struct sample *samples, size_t n,
			  const struct writer_style *style, const char *expected)
{
	CHECK_STR(write_samples(w, samples, n, style), expected);
}

static void check_folded(const struct sample *s, const struct writer_style *style,
			 const char *expected)
{
	check_written(&folded_writer, s, 1, style, expected);
}

static void check_text(const struct sample *s, const struct writer_style *style,
		       const char *expected)
{
	check_written(&text_writer, s, 1, style, expected);
}

static const struct sample mixed = {
	.comm = "app",
	.pid = 42,
	.cpu = -1,
	.value = 9,
	FRAMES(USER("main"), USER("read"), KERNEL("entry"), KERNEL("vfs_read")),
};

/* As --waker joins them: the waker's stack is upside down. */
static const struct sample woken = {
	.comm = "app",
	.pid = 42,
	.cpu = -1,
	.value = 9,
	FRAMES(USER("main"), KERNEL("schedule"), MARK("--"), KERNEL("try_to_wake_up"),
	       KERNEL("entry"), USER("write"), USER("start"), MARK("waker")),
};

static const struct {
	const char *path;
	const struct writer *writer;
} extensions[] = {
	{ "a.txt", &text_writer },
	{ "/tmp/x.y/out.folded", &folded_writer },
	{ "a.svg.folded", &folded_writer },
	{ "cpu.pb.gz", &pprof_writer },
	{ "cpu.json", &json_writer },
	{ "cpu.csv", &csv_writer },
	{ "r.html", &html_writer },
	{ "cpu.svg", &svg_writer },
	{ "cpu.heatmap.svg", &heatmap_writer },
	{ "cpu.firefox.json", &firefox_writer },
	{ "cpu.gz" },
	{ ".pb.gz" },
	{ "pb.gz" },
	{ "a.folded.gz" },
	{ "/tmp/x.folded/out" },
	{ "folded" },
	{ "/tmp/.folded" },
	{ "a." },
	{ "" },
};

TEST(writers_are_found_by_name_and_extension)
{
	CHECK(writer_by_name("text") == &text_writer);
	CHECK(writer_by_name("folded") == &folded_writer);
	CHECK(!writer_by_name("txt") && !writer_by_name("fold") && !writer_by_name(""));
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++)
		if (writer_by_extension(extensions[i].path) != extensions[i].writer)
			UNIT_FAIL("%s", extensions[i].path);
}

TEST(empty_profile_writes_nothing)
{
	check_written(&folded_writer, NULL, 0, &plain, "");
	check_written(&text_writer, NULL, 0, &plain, "");
}

#define MIXED                                 \
	.comm = "app", .pid = 42, .value = 9, \
	FRAMES(USER("main"), USER("read"), KERNEL("entry"), KERNEL("vfs_read"))
#define LEAF_FIRST "    vfs_read\n    entry\n    read\n    main\n"
#define FOOT	   "    -                "
#define BIG_PID	   .comm = "app", .pid = 4000000000, .value = 5

static const struct {
	struct sample sample;
	const struct writer_style *style;
	const char *folded, *text; /* NULL: not looked at */
} lines[] = {
	{ { MIXED, .cpu = -1 },
	  &plain,
	  "app;main;read;entry;vfs_read 9\n",
	  LEAF_FIRST FOOT "app (42)\n        9\n\n" },
	{ { MIXED, .cpu = -1 }, &delimiter, "app;main;read;-;entry;vfs_read 9\n" },
	{ { MIXED, .cpu = -1 }, &annotate, "app;main;read;entry_[k];vfs_read_[k] 9\n" },
	{ { MIXED, .cpu = -1 },
	  &both,
	  "app;main;read;-;entry_[k];vfs_read_[k] 9\n",
	  "    vfs_read_[k]\n    entry_[k]\n    --\n    read\n    main\n" FOOT
	  "app (42)\n        9\n\n" },
	{ { MIXED, .cpu = 0 }, &plain, "cpu0;app;main;read;entry;vfs_read 9\n" },
	{ { MIXED, .cpu = 127 }, &plain, "cpu127;app;main;read;entry;vfs_read 9\n" },
	{ { MIXED, .cpu = -1, .remark = "blocked at end" },
	  &annotate,
	  "app;main;read;entry_[k];vfs_read_[k];[blocked at end] 9\n" },
	{ { .comm = "app", .cpu = -1, .value = 9, .remark = "blocked at end" },
	  &plain,
	  "app;[blocked at end] 9\n" },
	{ { .comm = "swapper/0", .cpu = -1, .value = 3 }, &both, "swapper/0 3\n" },
	{ { .comm = "app", .cpu = -1, .value = 0, FRAMES(USER("main")) }, &plain, "", "" },
	{ { .comm = "0123456789abcdef", .pid = 1, .cpu = -1, .value = 1 },
	  &plain,
	  "0123456789abcdef 1\n",
	  FOOT "0123456789abcdef (1)\n        1\n\n" },
	/* no delimiter without both kinds, and none among a waker's frames */
	{ { .comm = "u", .cpu = -1, .value = 1, FRAMES(USER("a"), USER("b")) },
	  &delimiter,
	  "u;a;b 1\n",
	  "    b\n    a\n" FOOT "u (0)\n        1\n\n" },
	{ { .comm = "k", .cpu = -1, .value = 1, FRAMES(KERNEL("a")) },
	  &delimiter,
	  "k;a 1\n",
	  "    a\n" FOOT "k (0)\n        1\n\n" },
	{ { .comm = "u", .cpu = -1, .value = 1, FRAMES(USER("a"), USER("b")) },
	  &both,
	  "u;a;b 1\n" },
	{ { .comm = "k", .cpu = -1, .value = 1, FRAMES(KERNEL("a")) }, &both, "k;a_[k] 1\n" },
	{ { .comm = "u",
	    .cpu = -1,
	    .value = 1,
	    FRAMES(USER("a"), MARK("--"), KERNEL("b"), USER("c"), MARK("w")) },
	  &delimiter,
	  "u;a;--;b;c;w 1\n" },
	/* a line that begins with "#" is a comment to many readers */
	{ { .comm = "#2", .cpu = -1, .value = 1, FRAMES(USER("#m")) }, &plain, "\\x232;#m 1\n" },
	{ { .comm = "#2", .cpu = 0, .value = 1, FRAMES(USER("#m")) },
	  &plain,
	  "cpu0;\\x232;#m 1\n" },
	/* CPU, state and remark */
	{ { BIG_PID, .cpu = -1, .state = 'D' },
	  &plain,
	  .text = FOOT "app (4000000000) D\n        5\n\n" },
	{ { BIG_PID, .cpu = 0, .state = 'D' },
	  &plain,
	  .text = FOOT "app (4000000000) cpu 0 D\n        5\n\n" },
	{ { BIG_PID, .cpu = 0, .state = 'D', .remark = "blocked at end" },
	  &plain,
	  .text = FOOT "app (4000000000) cpu 0 D [blocked at end]\n        5\n\n" },
	{ { BIG_PID, .cpu = -1, .remark = "blocked at end" },
	  &plain,
	  .text = FOOT "app (4000000000) [blocked at end]\n        5\n\n" },
};

TEST(a_sample_is_a_line_and_a_paragraph)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (lines[i].folded)
			check_folded(&lines[i].sample, lines[i].style, lines[i].folded);
		if (lines[i].text)
			check_text(&lines[i].sample, lines[i].style, lines[i].text);
	}
	check_folded(&woken, &both,
		     "app;main;-;schedule_[k];--;try_to_wake_up_[k];entry_[k];write;start;"
		     "waker 9\n");
	check_text(&woken, &delimiter,
		   "    waker\n    start\n    write\n    entry\n    try_to_wake_up\n    --\n"
		   "    schedule\n    --\n    main\n" FOOT "app (42)\n        9\n\n");
}

TEST(threads_are_told_apart_by_their_numbers)
{
	struct sample s = mixed, other = mixed;
	const struct sample twins[] = { s, other };
	struct profile *p = profile_new("samples", NULL, NULL);

	s.tid = 43;
	check_folded(&s, &plain, "tid43;app;main;read;entry;vfs_read 9\n");
	check_text(&s, &plain,
		   "    vfs_read\n    entry\n    read\n    main\n"
		   "    -                app (42) tid 43\n        9\n\n");
	s.cpu = 1;
	check_folded(&s, &plain, "cpu1;tid43;app;main;read;entry;vfs_read 9\n");
	profile_add(p, &twins[0]);
	profile_add(p, &twins[1]);
	profile_add(p, &s);
	s.tid = 44;
	profile_add(p, &s);
	CHECK_EQ(profile_count(p), 3);
	profile_free(p);
}

TEST(folded_merges_across_pids_and_states)
{
	struct sample s[4];

	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		s[i] = mixed;
		s[i].pid = (uint32_t)i;
	}
	s[1].state = 'D';
	s[2].n_frames = 2;
	s[2].value = 20;
	check_written(&folded_writer, s, ARRAY_SIZE(s), &plain,
		      "app;main;read;entry;vfs_read 27\napp;main;read 20\n");
}

/* A mark or an annotated name can read like another frame: the text decides what is equal. */
TEST(folded_merges_by_text)
{
	const struct sample s[] = {
		{ .comm = "a", .cpu = -1, .value = 1, FRAMES(MARK("[x]")) },
		{ .comm = "a", .cpu = -1, .value = 2, .remark = "x" },
		{ .comm = "a", .cpu = -1, .value = 4, FRAMES(USER("f_[k]")) },
		{ .comm = "a", .cpu = -1, .value = 8, FRAMES(KERNEL("f")) },
	};

	check_written(&folded_writer, s, ARRAY_SIZE(s), &annotate, "a;f_[k] 12\na;[x] 3\n");
}

TEST(folded_is_hottest_first_then_by_text)
{
	const struct sample s[] = {
		{ .comm = "b", .cpu = -1, .value = 2 },
		{ .comm = "c", .cpu = -1, .value = 3 },
		{ .comm = "a", .cpu = -1, .value = 2 },
		{ .comm = "d", .cpu = -1, .value = 1 },
		{ .comm = "d", .cpu = -1, .pid = 1, .value = 3 },
	};

	check_written(&folded_writer, s, ARRAY_SIZE(s), &plain, "d 4\nc 3\na 2\nb 2\n");
}

TEST(folded_escapes_evil_names)
{
	struct sample s = {
		.comm = "a;b\nc 1\n",
		.cpu = -1,
		.value = 1,
		.remark = "r;\033",
		FRAMES(USER("x;y"), USER("\033]0;t\007"), USER("\xff\xc3\xa4"), KERNEL("k\r"),
		       MARK("m;\n")),
	};

	check_folded(&s, &both,
		     "a\\x3bb\\x0ac 1\\x0a;x\\x3by;\\x1b]0\\x3bt\\x07;\\xff\xc3\xa4;-;k\\x0d_[k];"
		     "m\\x3b\\x0a;[r\\x3b\\x1b] 1\n");
}

static void check_read_back(const char *text, size_t n_frames)
{
	struct folded_line *line = mem_zalloc(1, sizeof(*line));
	FILE *f = fmemopen((char *)text, strlen(text), "r");
	struct folded_reader reader;

	folded_open(&reader, f, false);
	CHECK(folded_read(&reader, line));
	CHECK_EQ(line->n_frames, n_frames);
	CHECK_STR(line->frames[0].name, "[no name]");
	CHECK_EQ(reader.refused, 0);
	folded_close(&reader);
	fclose(f);
	free(line);
}

/* Else its outermost function would be taken for it, or the line for none. */
TEST(a_thread_without_a_name_is_a_root_too)
{
	struct sample s = { .comm = "", .pid = 7, .cpu = -1, .value = 5, FRAMES(USER("_start")) };
	char *text;

	check_folded(&s, &plain, "[no name];_start 5\n");
	check_read_back("[no name];_start 5\n", 2);
	check_text(&s, &plain, "    _start\n    -                [no name] (7)\n        5\n\n");
	text = write_samples(&svg_writer, &s, 1, &plain);
	CHECK_HAS(text, "<title>[no name] (5 samples, 100.00 %)</title>");
	s.n_frames = 0;
	check_folded(&s, &plain, "[no name] 5\n");
	check_read_back("[no name] 5\n", 1);
}

static void check_parts(uint64_t part, const char *expected)
{
	static const struct column columns[] = { { .name = "runnable", .rest = "blocked" }, {} };
	struct profile *p = profile_new("microseconds", columns, NULL);
	char *text;

	profile_add(p,
		    &(struct sample){
			    .comm = "a", .pid = 1, .cpu = -1, .value = 10, .columns = { part } });
	text = written_by(&text_writer, p, &plain, NULL);
	CHECK_STR(text, expected);
	profile_free(p);
}

TEST(text_shows_a_part_and_the_rest)
{
	check_parts(3, "    -                a (1)\n        10 (blocked 7, runnable 3)\n\n");
	check_parts(10, "    -                a (1)\n        10 (blocked 0, runnable 10)\n\n");
	check_parts(0, "    -                a (1)\n        10\n\n");
}

TEST(text_is_coldest_first)
{
	const struct sample s[] = {
		{ .comm = "mid", .cpu = -1, .value = 2 },
		{ .comm = "hot", .cpu = -1, .value = 3 },
		{ .comm = "cold", .cpu = -1, .value = 1 },
	};

	check_written(&text_writer, s, ARRAY_SIZE(s), &plain,
		      "    -                cold (0)\n        1\n\n"
		      "    -                mid (0)\n        2\n\n"
		      "    -                hot (0)\n        3\n\n");
}

TEST(text_keeps_pids_apart)
{
	struct sample s[2] = { { .comm = "a", .pid = 1, .cpu = -1, .value = 1 },
			       { .comm = "a", .pid = 2, .cpu = -1, .value = 1 } };

	check_written(&text_writer, s, ARRAY_SIZE(s), &plain,
		      "    -                a (2)\n        1\n\n"
		      "    -                a (1)\n        1\n\n");
}

TEST(text_escapes_evil_names)
{
	struct sample s = {
		.comm = "a\n    - b (1)",
		.pid = 2,
		.cpu = -1,
		.value = 1,
		.remark = "\x9b",
		FRAMES(USER("x;y\n"), KERNEL("\033[2J"), MARK("\xed\xa0\x80")),
	};

	check_text(&s, &plain,
		   "    \\xed\\xa0\\x80\n    \\x1b[2J\n    x;y\\x0a\n"
		   "    -                a\\x0a    - b (1) (2) [\\x9b]\n        1\n\n");
}

/* 100,000 samples of 50,000 pids come down to 1,000 lines, each once. */
TEST(folded_merges_a_large_profile)
{
	enum { SAMPLES = 100000, PIDS = 50000, LINES = 1000 };
	struct profile *p = profile_new("samples", NULL, NULL);
	char *text, name[32];
	size_t n_lines = 0;
	unsigned long long sum = 0;

	for (int i = 0; i < SAMPLES; i++) {
		struct sample s = { .comm = "app", .cpu = -1, .value = 1, FRAMES(USER(name)) };

		snprintf(name, sizeof(name), "f%d", i % LINES);
		s.pid = (uint32_t)(i % PIDS);
		profile_add(p, &s);
	}
	text = written_by(&folded_writer, p, &plain, NULL);
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, n_lines++)
		sum += strtoull(memrchr(line, ' ', (size_t)(end - line)), NULL, 10);
	CHECK_EQ(n_lines, LINES);
	CHECK_EQ(sum, SAMPLES);
	CHECK(!strncmp(text, "app;f0 100\napp;f1 100\napp;f10 100\n", 33));
	profile_free(p);
}

/* Comments of folded stacks, lines of JSON, a text in a picture that is still well formed. */
TEST(notes_follow_what_is_written)
{
	const uint64_t moment = 1800000000123456789ULL;
	struct profile *none = profile_new("samples", NULL, NULL);
	char *text = PRINTED(f, writer_note(f, "folded", "cmd:a;b\n", moment));
	char *plain_text = PRINTED(f, writer_note(f, "text", "cmd:a;b\n", moment));
	char *json = PRINTED(f, writer_note(f, "json", "a \"b\"", moment));
	char *csv = PRINTED(f, writer_note(f, "csv", "a", moment));
	char *md = PRINTED(f, writer_note(f, "md", "cmd:a`b", moment));
	char *html = PRINTED(f, writer_note(f, "html", "rss>1G", moment));
	char *svg = PRINTED(f, {
		svg_writer.write(f, none, &plain);
		writer_note(f, "svg", "cpu>9%", moment);
	});

	profile_free(none);
	CHECK_STR(text, "# captured at 2027-01-15T08:00:00.123Z: cmd:a\\x3bb\\x0a\n");
	CHECK_STR(plain_text, "# captured at 2027-01-15T08:00:00.123Z: cmd:a;b\\x0a\n");
	CHECK_STR(json, "{\"type\":\"capture\",\"reason\":\"a \\\"b\\\"\","
			"\"moment\":\"2027-01-15T08:00:00.123Z\"}\n");
	CHECK_STR(csv, "");
	CHECK_STR(md, "\nCaptured at 2027-01-15T08:00:00.123Z:  \n`cmd:a\\x60b`\n");
	CHECK_STR(html, "<p>Captured at 2027-01-15T08:00:00.123Z: <code>rss&gt;1G</code></p>\n");
	CHECK_HAS(svg, "captured at 2027-01-15T08:00:00.123Z: cpu&gt;9%</text>\n</svg>\n");
	CHECK(strstr(svg, "</svg>") == strrchr(svg, '<'));
}

/* Adds stacks that a page shows apart: of idle threads, of goroutines. */
static void add_others(struct profile *many)
{
	profile_add(many, &(struct sample){ FRAMES(USER("[idle]")), .comm = "app", .pid = 7,
					    .cpu = -1, .value = 70000000 });
	profile_add(many,
		    &(struct sample){ FRAMES(USER("pool")), .comm = "app", .pid = 7, .cpu = -1,
				      .remark = "blocked throughout", .value = 90000000 });
	profile_add(many,
		    &(struct sample){ FRAMES(MARK("[goroutine: select]"), USER("main.serve"),
					     USER("runtime.selectgo"), USER("runtime.gopark")),
				      .comm = "app", .pid = 7, .cpu = -1, .remark = "blocked",
				      .value = 80000000 });
	profile_add(many,
		    &(struct sample){ FRAMES(MARK("[goroutine: chan receive (nil chan)]"),
					     USER("github.com/somebody/something.function"),
					     USER("runtime.chanrecv1"), USER("runtime.chanrecv"),
					     USER("runtime.gopark")),
				      .comm = "app", .pid = 7, .cpu = -1, .value = 1 });
}

/* A page for people: bounded, whatever stacks there are; of the kernel one function. */
TEST(a_page_of_markdown_is_bounded)
{
	struct writer_facts facts = { .tool = "profile",
				      .host = "h",
				      .kernel = "k",
				      .process = "service",
				      .process_pid = 7,
				      .usage = "resident: 1.0 MiB (+0.1)" };
	struct writer_style style = { .facts = &facts };
	struct profile *many = profile_new("microseconds", NULL, NULL);
	static const char *const remarks[] = { "on cpu", "blocked", "runnable", "throttled" };
	char name[200], *page;

	for (uint64_t i = 0; i < 400; i++) {
		struct sample s = { .comm = "app",
				    .pid = 7,
				    .cpu = -1,
				    .value = 1000 + i,
				    .remark = remarks[i % 4] };
		const struct frame frames[] = { { "main", FRAME_USER },
						{ name, FRAME_USER },
						{ "__x64_sys_read", FRAME_KERNEL },
						{ "leaf", FRAME_KERNEL } };

		snprintf(name, sizeof(name), "%d%0*d", (int)i, (int)(i % 150) + 1, 0);
		s.frames = frames;
		s.n_frames = 4;
		profile_add(many, &s);
	}
	add_others(many);
	page = written_by(&md_writer, many, &style, NULL);
	profile_free(many);
	CHECK(strlen(page) <= 4096);
	for (const char *line = page; *line; line += strcspn(line, "\n") + 1)
		CHECK(strcspn(line, "\n") <= 80);
	CHECK_HAS(page, "# profile, 0.0 s, process 7 (`service`)");
	CHECK_HAS(page, "  \nresident: 1.0 MiB (+0.1)\n\n");
	CHECK_HAS(page, "| idle               |       70.0 s |");
	CHECK_HAS(page, "\n## throttled\n");
	CHECK_HAS(page, "  1.40 ms   1.2 % app: main > 399000000");
	CHECK_HAS(page, " > leaf\n");
	CHECK(!strstr(page, "__x64") && !strstr(page, "## idle"));
	CHECK_HAS(page,
		  "\n## system calls: on cpu and blocked\n\n```\n   240 ms   0.1 % read\n```\n");
	CHECK_HAS(page, "\nNext: `runqlat --throttled -p 7 10 1`\n");
	CHECK_HAS(page, "|\n| goroutines waiting |       80.0 s |         |\n"
			"| blocked throughout |       90.0 s |  56.1 % |\n| idle ");
	CHECK_HAS(page, "chan)]: .. > github.com/so..hing.function > ..\n");
	CHECK_HAS(page, "   80.0 s 100.0 % [select]: .. > main.serve > .. > runtime.gopark\n");
}

/* Markup in names is text, and the graphs leave out frames that have no space. */
TEST(an_html_page_is_one_small_file)
{
	struct writer_facts facts = { .tool = "profile", .host = "<h>", .kernel = "k" };
	struct writer_style style = { .facts = &facts };
	struct profile *p = profile_new("microseconds", NULL, NULL);
	char name[60], *page;
	size_t n;

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "</pre></title><script>evil(%d)</script>", i);
		profile_add(p, &(struct sample){ FRAMES(USER("main"), USER(name), USER("leaf")),
						 .comm = "<b>&`", .pid = 7, .cpu = -1,
						 .value = i < 2 ? 90000 : 90,
						 .remark = i % 2 ? "on cpu" : "blocked" });
	}
	page = written_by(&html_writer, p, &style, &n);
	profile_free(p);
	CHECK(n <= 1000000);
	CHECK(!strncmp(page, "<!DOCTYPE html>\n", 16));
	CHECK_HAS(page, "<h1>profile, 0.0 s, process 7 (<code>&lt;b&gt;&amp;\\x60</code>)</h1>\n");
	CHECK_HAS(page, "&lt;h&gt;, Linux k");
	CHECK_HAS(page, "<tr><td> blocked            </td>\n<td>       990 ms </td>");
	CHECK_HAS(page, "<title>profile, on CPU: microseconds</title>");
	CHECK_HAS(page, "<title>profile, waiting, without idle threads and [blocked throughout]: ");
	CHECK_HAS(page, "&lt;script&gt;evil(");
	CHECK(!strstr(page, "<script>evil") && !strstr(page, "<b>") && !strstr(page, "<?xml"));
}

/* The graph of one stack of long names, as of C++ templates, has all of its frames. */
TEST(long_names_lack_their_middle_on_a_page)
{
	struct profile *p = profile_new("microseconds", NULL, NULL);
	struct frame frames[128];
	char *names[ARRAY_SIZE(frames)], *page, part[64];
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		names[i] = mem_printf("f%zu<%04000d>::f%zu()", i, 0, i);
		frames[i] = (struct frame){ names[i], FRAME_USER };
	}
	profile_add(p, &(struct sample){ .frames = frames,
					 .n_frames = ARRAY_SIZE(frames),
					 .comm = "app",
					 .cpu = -1,
					 .value = 1 });
	page = written_by(&html_writer, p, &plain, &n);
	profile_free(p);
	CHECK(n <= 1000000);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		snprintf(part, sizeof(part), "<title>f%zu&lt;000", i);
		CHECK_HAS(page, part);
		snprintf(part, sizeof(part), "000&gt;::f%zu() (1", i);
		CHECK_HAS(page, part);
		free(names[i]);
	}
}

/* Stacks that look the same on the page are one. */
TEST(shortened_stacks_are_added)
{
	const struct sample samples[] = {
		{ FRAMES(USER("main"), USER("f"), KERNEL("a"), KERNEL("x")), .comm = "c", .cpu = -1,
		  .value = 3 },
		{ FRAMES(USER("main"), USER("f"), KERNEL("b"), KERNEL("x")), .comm = "c", .cpu = -1,
		  .value = 4 },
		{ FRAMES(KERNEL("k"), KERNEL("l")), .comm = "w", .cpu = -1, .value = 1 },
		{ FRAMES(USER("main"), { "app.py_f", FRAME_RUNTIME },
			 USER("a_function_of_a_library"), USER("another_one_of_the_library"),
			 KERNEL("x")),
		  .comm = "p", .cpu = -1, .value = 2 },
	};

	check_written(&md_writer, samples, 4, &plain,
		      "| kind               |        value | share   |\n"
		      "|:-------------------|-------------:|--------:|\n"
		      "| all                |           10 | 100.0 % |\n\n## all\n\n```\n"
		      "        7  70.0 % c: main > f > x\n"
		      "        2  20.0 % p: .. > app.py_f > .. > another_one_of_the_library > x\n"
		      "        1  10.0 % w: k > l\n```\n");
}
