// SPDX-License-Identifier: GPL-2.0-only
/* Formats that show when something happened: rows in time, a track per thread, cells of time. */
#include "output/remarks.h"
#include "unit.h"
#include "written.h"

static const struct image app = { "app", "/opt/app", "00ff" };
static const struct frame spin[] = { { "main", FRAME_USER, .image = &app },
				     { "spin", FRAME_USER, 7, "spin.c", .image = &app } };
static const struct frame nap[] = { { "main", FRAME_USER, .image = &app },
				    { "schedule", FRAME_KERNEL } };
static const struct frame idle[] = { { "[idle]", FRAME_USER } };

static struct profile *p;
static struct event events[8];
static size_t n_events;

BEFORE_EACH()
{
	n_events = 0;
}

AFTER_EACH()
{
	profile_free(p);
	p = NULL;
}

static void add(enum event_kind kind, uint64_t end_ms, uint64_t ms, uint64_t part_ms,
		const struct sample *s)
{
	bool is_time = !strcmp(profile_unit(p), "nanoseconds");

	events[n_events++] = (struct event){ .end_ns = end_ms * NS_PER_MS,
					     .value = is_time ? ms * NS_PER_MS : ms,
					     .part = part_ms * NS_PER_MS,
					     .kind = kind,
					     .sample = profile_add(p, s) };
}

static const char *written(const struct writer_facts *facts)
{
	profile_set_events(p, events, n_events);
	return written_by(&firefox_writer, p, &(struct writer_style){ .facts = facts }, NULL);
}

static const struct sample on_cpu = { "main", 7, -1, .frames = spin, .n_frames = 2, .tid = 7 };
static const struct sample waiting = { "main", 7, -1, 'S', .frames = nap, .n_frames = 2, .tid = 7 };
static const struct sample bare = { "main", 7, -1, .tid = 7 };

/* Samples divide a run, parts a wait; a run without samples has no stack. */
TEST(a_thread_has_its_whole_time)
{
	const char *text;

	p = profile_new("nanoseconds", NULL, NULL);
	add(EVENT_WAIT, 600, 300, 10, &waiting);
	add(EVENT_SAMPLE, 100, 10, 0, &on_cpu);
	add(EVENT_SAMPLE, 200, 10, 0, &on_cpu);
	add(EVENT_RUN, 300, 300, 0, &bare);
	add(EVENT_RUN, 900, 300, 0, &bare);
	text = written(NULL);
	CHECK_HAS(text, "\"samples\":{\"length\":6,\"stack\":[1,1,3,4,5,null],"
			"\"time\":[0,150,300,590,600,900],\"weight\":[150,150,290,10,300,0],"
			"\"weightType\":\"tracing-ms\"}");
	CHECK_HAS(text, "\"markers\":{\"length\":2,\"name\":[8,9],\"startTime\":[300,590],"
			"\"endTime\":[590,600],\"phase\":[1,1],\"category\":[5,6],");
	CHECK_HAS(text, "{\"type\":\"wait\",\"state\":\"S\",\"cause\":{\"stack\":3}}");
	CHECK_HAS(text, "\"stackTable\":{\"length\":6,\"frame\":[0,1,2,3,4,5],"
			"\"prefix\":[null,0,0,2,2,null]}");
	CHECK_HAS(text, "\"line\":[null,7,null,null,null,null],\"category\":[1,1,4,5,6,1]");
	CHECK_HAS(text, "\"stringArray\":[\"main\",\"app\",\"spin\",\"spin.c\",\"schedule\","
			"\"[blocked]\",\"[runnable]\",\"[on cpu]\",\"waits: blocked\","
			"\"waits: runnable\"]");
}

/* A hidden sample keeps its part of the run, as a gap. */
TEST(hidden_samples_leave_gaps)
{
	p = profile_new("nanoseconds", NULL, NULL);
	add(EVENT_SAMPLE, 100, 10, 0, &on_cpu);
	add(EVENT_SAMPLE, 200, 10, 0, &on_cpu);
	events[0].is_hidden = true;
	add(EVENT_RUN, 300, 300, 0, &bare);
	events[2].is_hidden = true;
	add(EVENT_RUN, 400, 100, 0, &bare);
	events[3].is_hidden = true;
	CHECK_HAS(written(NULL), "\"time\":[0,150,300,400],\"weight\":[0,150,0,0]");
	events[1].is_hidden = true;
	CHECK_HAS(written(NULL), "\"threads\":[]");
}

/* Events come some microseconds after they end, and quotas' part of a wait after its rest. */
TEST(rows_follow_each_other)
{
	struct sample throttled = waiting;

	throttled.remark = REMARK_THROTTLED;
	p = profile_new("nanoseconds", NULL, NULL);
	add(EVENT_WAIT, 100, 100, 0, &waiting);
	add(EVENT_RUN, 200, 101, 0, &bare);
	add(EVENT_WAIT, 300, 50, 0, &waiting);
	add(EVENT_WAIT, 300, 50, 50, &throttled);
	CHECK_HAS(written(NULL), "\"time\":[0,99,200,250,300],\"weight\":[99,101,50,50,0]");
}

/* Nothing is known of a thread between its events, and idle waits are idle. */
TEST(gaps_have_no_stack)
{
	struct sample idles = waiting;

	idles.frames = idle;
	idles.n_frames = 1;
	p = profile_new("nanoseconds", NULL, NULL);
	add(EVENT_WAIT, 100, 50, 20, &idles);
	add(EVENT_WAIT, 300, 100, 0, &idles);
	CHECK_HAS(written(NULL), "\"stack\":[0,null,0,null],\"time\":[50,100,200,300],"
				 "\"weight\":[50,0,100,0]");
	CHECK_HAS(written(NULL), "[\"[idle]\",\"waits: idle\"]");
}

TEST(samples_stand_for_a_period)
{
	const struct sample_period period = { "cpu", "nanoseconds", 10 * NS_PER_MS };
	const struct writer_facts facts = { .tool = "profile", .period = &period };

	p = profile_new("samples", NULL, NULL);
	add(EVENT_SAMPLE, 10, 1, 0, &on_cpu);
	add(EVENT_SAMPLE, 20, 1, 0, &on_cpu);
	add(EVENT_SAMPLE, 50, 1, 0, &on_cpu);
	CHECK_HAS(written(&facts), "\"stack\":[1,1,null,1,null],\"time\":[10,20,30,50,60],"
				   "\"weight\":[1,1,0,1,0],\"weightType\":\"samples\"}");
}

/* Ordered by process and thread; a track has its latest name, and the main thread's. */
TEST(each_thread_has_a_track)
{
	struct sample other = on_cpu, renamed = on_cpu, alone = on_cpu, executed = on_cpu;
	const char *text, *first, *second;

	other.tid = 9;
	renamed.tid = 9;
	renamed.comm = "worker";
	executed.comm = "program";
	alone.comm = "";
	alone.pid = 6;
	alone.tid = 8;
	p = profile_new("samples", NULL, NULL);
	add(EVENT_SAMPLE, 30, 1, 0, &renamed);
	add(EVENT_SAMPLE, 10, 1, 0, &other);
	add(EVENT_SAMPLE, 20, 1, 0, &on_cpu);
	add(EVENT_SAMPLE, 40, 1, 0, &executed);
	add(EVENT_SAMPLE, 20, 1, 0, &alone);
	text = written(NULL);
	CHECK_HAS(text, "\"threads\":[{\"name\":\"[no name]\",\"pid\":\"6\","
			"\"tid\":8,\"isMainThread\":false,");
	first = strstr(text, "{\"name\":\"program\",\"processName\":\"program\"");
	second = strstr(text, "{\"name\":\"worker\",\"processName\":\"program\"");
	CHECK(first && second && first < second);
}

/* The file is one value, and has the numbers of cut, lost and captured samples. */
TEST(a_file_knows_its_run)
{
	const struct writer_facts facts = { .tool = "profile",
					    .host = "h\"\n",
					    .kernel = "6.1",
					    .end_unix_ns = 5000 * NS_PER_MS,
					    .duration_ns = 2000 * NS_PER_MS,
					    .lost = 3,
					    .cut_ns = 500 * NS_PER_MS,
					    .gets_note = true };
	const char *text;

	p = profile_new("samples", NULL, NULL);
	profile_set_events(p, events, 0);
	text = PRINTED(f, {
		firefox_writer.write(f, p, &(struct writer_style){ .facts = &facts });
		writer_note(f, "firefox", "wait>1s", 0);
	});
	CHECK_HAS(text, "\"startTime\":3000,\"profilingStartTime\":500,\"profilingEndTime\":2000,");
	CHECK_HAS(text, "{\"label\":\"Host\",\"format\":\"string\",\"value\":\"h\\\"\\u000a\"}");
	CHECK_HAS(text, "{\"label\":\"Lost\",\"format\":\"string\",\"value\":\"3 samples\"}");
	CHECK_HAS(text, "\"threads\":[],\"capture\":{\"reason\":\"wait>1s\",\"moment\":");
	CHECK(!strcmp(text + strlen(text) - 3, "}}\n"));
}

static const char *heatmap(const struct writer_facts *facts)
{
	profile_set_events(p, events, n_events);
	return written_by(&heatmap_writer, p, &(struct writer_style){ .facts = facts }, NULL);
}

/*
 * A wait is divided among the cells of its time, and its parts are listed for the script by the
 * number of their frame. Idle threads don't count; nor does blocked time beside that on CPU.
 */
TEST(a_heat_map_divides_time)
{
	const struct sample poll = { "main", 7, -1, .frames = idle, .n_frames = 1, .tid = 7 };
	const char *text;

	p = profile_new("nanoseconds", NULL, NULL);
	add(EVENT_WAIT, 1110, 30, 10, &waiting);
	add(EVENT_WAIT, 1200, 60, 10, &poll);
	text = heatmap(NULL);
	CHECK_HAS(text, "data-cell=\"20000000\" data-columns=\"2\"");
	CHECK_HAS(text, "<title>1.08 s: 20.0 ms</title>");
	CHECK_HAS(text, "<title>1.10 s: 10.0 ms</title>");
	CHECK(!strstr(text, "<title>1.14 s"));
	CHECK_HAS(text, "\n3 k0 30000000 schedule (30.0 ms, 100.00 %)\n"
			"4 o2 20000000 [blocked] (20.0 ms, 66.67 %)\n"
			"4 q3 10000000 [runnable] (10.0 ms, 33.33 %)\n");
	CHECK_HAS(text, "rows\">\n4 1080000000 20000000\n5 1100000000 10000000\n</metadata>");
	add(EVENT_RUN, 1300, 100, 0, &bare);
	text = heatmap(NULL);
	CHECK(!strstr(text, "<title>1.08 s"));
	CHECK_HAS(text, "<title>1.10 s: 10.0 ms</title>");
	CHECK_HAS(text, "<title>1.20 s: 20.0 ms</title>");
}

/* A run is moved before a sample of its own by the wait after it, in cells and rows alike. */
TEST(a_heat_map_lists_what_it_shows)
{
	const char *text;

	p = profile_new("nanoseconds", NULL, NULL);
	add(EVENT_SAMPLE, 495, 10, 0, &on_cpu);
	add(EVENT_RUN, 500, 200, 0, &bare);
	add(EVENT_WAIT, 600, 110, 0, &waiting);
	text = heatmap(NULL);
	CHECK_HAS(text, "spin (spin.c:7) (200 ms, ");
	CHECK_HAS(text, "rows\">\n5 290000000 200000000\n4 490000000 110000000\n");
}

/* A long time has columns of several seconds, and begins with what was not cut. */
TEST(a_heat_map_is_as_wide_as_the_picture)
{
	const struct writer_facts facts = { .tool = "profile",
					    .host = "h",
					    .kernel = "6.1",
					    .duration_ns = 3600 * NS_PER_S,
					    .cut_ns = 1200 * NS_PER_S + 1 };
	const char *text;

	p = profile_new("samples", NULL, NULL);
	add(EVENT_SAMPLE, 1201000, 3, 0, &on_cpu);
	text = heatmap(&facts);
	CHECK_HAS(text, "data-first=\"1200000000000\" data-cell=\"60000000\" data-columns=\"801\"");
	CHECK_HAS(text, "<title>1200.96 s: 3 samples</title>");
}

/* A wait that began before the cut ends where it ended, not later by the time that is not shown. */
TEST(a_heat_map_has_no_time_before_the_cut)
{
	const struct writer_facts facts = { .tool = "profile",
					    .host = "h",
					    .kernel = "6.1",
					    .duration_ns = 7 * NS_PER_S,
					    .cut_ns = 4 * NS_PER_S };
	const char *text;

	p = profile_new("nanoseconds", NULL, NULL);
	add(EVENT_WAIT, 4030, 2000, 0, &waiting);
	text = heatmap(&facts);
	CHECK_HAS(text, "<title>4.00 s: 20.0 ms</title>");
	CHECK_HAS(text, "<title>4.02 s: 10.0 ms</title>");
	CHECK(!strstr(text, "<title>4.04 s"));
}
