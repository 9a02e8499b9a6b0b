// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics: what is written of sums and histograms, how labels are escaped, how series are bounded.
 */
#include "output/metrics.h"
#include "unit.h"

static const struct metric calls = {
	.name = "test_calls_total",
	.help = "Calls.",
};

static const struct metric busy = {
	.name = "test_busy_seconds_total",
	.help = "Time.",
	.divisor = NS_PER_S,
};

static const struct metric waits = {
	.name = "test_wait_seconds",
	.help = "Waits.",
	.kind = METRIC_HISTOGRAM,
};

static struct metrics *metrics;

BEFORE_EACH()
{
	metrics = metrics_new();
}

AFTER_EACH()
{
	metrics_free(metrics);
}

static char *written_at(uint64_t now_ns)
{
	return PRINTED(f, metrics_write(f, metrics, now_ns));
}

static char *written(void)
{
	return written_at(1);
}

static void add_call(const char *call, const char *comm, uint64_t n)
{
	const struct metric_labels labels = { { "call", "comm" }, { call, comm }, 2 };

	metrics_add(metrics, &calls, &labels, n);
}

static void add_waits(const char *cgroup, const struct hist *hist)
{
	const struct metric_labels labels = { { "cgroup" }, { cgroup }, 1 };

	metrics_add_hist(metrics, &waits, &labels, hist);
}

/* Adds calls to all series that a metric may have but for n. */
static void fill_but(size_t n)
{
	char name[32];

	for (size_t i = n; i < METRICS_MAX_SERIES; i++) {
		snprintf(name, sizeof(name), "call-%zu", i);
		add_call(name, "x", 1);
	}
}

TEST(sums_grow)
{
	add_call("read", "cat", 3);
	add_call("write", "cat", 1);
	metrics_add(metrics, &busy, NULL, 0);
	add_call("read", "cat", 4);
	metrics_add(metrics, &busy, NULL, 1500000000);
	CHECK_STR(written(), "# HELP test_calls_total Calls.\n"
			     "# TYPE test_calls_total counter\n"
			     "test_calls_total{call=\"read\",comm=\"cat\"} 7\n"
			     "test_calls_total{call=\"write\",comm=\"cat\"} 1\n"
			     "# HELP test_busy_seconds_total Time.\n"
			     "# TYPE test_busy_seconds_total counter\n"
			     "test_busy_seconds_total 1.5\n");
}

TEST(totals_are_set)
{
	static const struct metric lost = { .name = "lost_total", .help = "Lost." };

	metrics_set(metrics, &lost, NULL, 7);
	metrics_set(metrics, &lost, NULL, 9);
	CHECK_STR(written(), "# HELP lost_total Lost.\n# TYPE lost_total counter\nlost_total 9\n");
}

TEST(label_values_are_escaped)
{
	add_call("a\"b\\c\nd", "\033\xff\xc3\xa4", 1);
	CHECK_HAS(written(), "{call=\"a\\\"b\\\\c\\\\x0ad\",comm=\"\\\\x1b\\\\xff\xc3\xa4\"} 1\n");
}

/* Values that differ in where one ends and the next begins are two series. */
TEST(series_are_known_by_all_their_values)
{
	char *text;

	add_call("ab", "c", 1);
	add_call("a", "bc", 2);
	text = written();
	CHECK_HAS(text, "{call=\"ab\",comm=\"c\"} 1\n", "{call=\"a\",comm=\"bc\"} 2\n");
}

/* Whoever names threads must not make a server refuse all that is said. */
TEST(values_of_one_text_are_one_series)
{
	add_call("\001", "a\xff", 1);
	add_call("\\x01", "a\\xff", 2);
	add_call("\001", "a\\xff", 4);
	add_call("\n", "\"", 8);
	add_call("\\n", "\\\"", 16);
	add_call("\\x0a", "\"", 32);
	CHECK_STR(written(), "# HELP test_calls_total Calls.\n"
			     "# TYPE test_calls_total counter\n"
			     "test_calls_total{call=\"\\\\x01\",comm=\"a\\\\xff\"} 7\n"
			     "test_calls_total{call=\"\\\\x0a\",comm=\"\\\"\"} 40\n"
			     "test_calls_total{call=\"\\\\n\",comm=\"\\\\\\\"\"} 16\n");
}

static struct hist *hist_of(const uint64_t *us, size_t n)
{
	struct hist *hist = hist_new();

	for (size_t i = 0; i < n; i++)
		hist_record(hist, hist_fixed(&hist_usecs, us[i] * 1000));
	return hist;
}

TEST(histograms_are_cumulative_in_seconds)
{
	struct hist *hist = hist_of((uint64_t[]){ 0, 1, 2, 1500, 1536, 60000000 }, 6);
	char *text;

	add_waits("/a", hist);
	text = written();
	CHECK_EQ(count_in(text, "_bucket{"), 26 * 2 + 2);
	CHECK_HAS(text,
		  "# TYPE test_wait_seconds histogram\n"
		  "test_wait_seconds_bucket{cgroup=\"/a\",le=\"2.5e-07\"} 1\n"
		  "test_wait_seconds_bucket{cgroup=\"/a\",le=\"3.75e-07\"} 1\n"
		  "test_wait_seconds_bucket{cgroup=\"/a\",le=\"5e-07\"} 1\n",
		  "le=\"1e-06\"} 1\n", "le=\"1.5e-06\"} 2\n", "le=\"2e-06\"} 2\n",
		  "le=\"3e-06\"} 3\n", "le=\"0.001024\"} 3\n", "le=\"0.001536\"} 4\n",
		  "le=\"0.002048\"} 5\n",
		  "le=\"16.777216\"} 5\n"
		  "test_wait_seconds_bucket{cgroup=\"/a\",le=\"+Inf\"} 6\n"
		  "test_wait_seconds_sum{cgroup=\"/a\"} 60.003039\n"
		  "test_wait_seconds_count{cgroup=\"/a\"} 6\n");
	add_waits("/a", hist);
	text = written();
	CHECK_HAS(text, "le=\"0.001536\"} 8\n", "_count{cgroup=\"/a\"} 12\n");
	hist_free(hist);
}

/* As promised for percentiles: whatever is recorded lies between its bucket's edges. */
TEST(values_lie_below_their_edge)
{
	static const struct metric plain = { "t_seconds", "T.", METRIC_HISTOGRAM };

	for (uint64_t us = 1; us < 16000000; us = us * 5 / 4 + 1) {
		struct hist *hist = hist_of(&us, 1);
		double edge = 0, below = 0;
		char *at;

		metrics_free(metrics);
		metrics = metrics_new();
		metrics_add_hist(metrics, &plain, NULL, hist);
		at = written();
		while ((at = strstr(at, "le=\""))) {
			edge = strtod(at + 4, &at);
			if (!strncmp(at, "\"} 1", 4))
				break;
			below = edge;
		}
		CHECK(below <= (double)us / 1e6 * 1.000001 && (double)us / 1e6 < edge);
		CHECK(edge <= below * 1.5 * 1.000001);
		hist_free(hist);
	}
}

TEST(what_is_too_much_is_other)
{
	char *text;

	fill_but(2);
	add_call("a", "x", 1);
	add_call("b", "x", 2);
	add_call("c", "x", 4);
	add_call("d", "x", 8);
	add_call("a", "x", 16);
	metrics_add(metrics, &busy, NULL, 5 * NS_PER_S);
	text = written();
	CHECK_HAS(text,
		  "{call=\"a\",comm=\"x\"} 17\n"
		  "test_calls_total{call=\"b\",comm=\"x\"} 2\n"
		  "test_calls_total{call=\"other\",comm=\"other\"} 12\n",
		  "test_busy_seconds_total 5\n");
	CHECK_EQ(metrics_overflows(metrics), 2);
}

TEST(what_is_called_other_is_added_to_it)
{
	struct hist *hist = hist_of((uint64_t[]){ 1 }, 1);
	static const char *const groups[] = { "/a", "other", "/b", "other" };
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		add_waits(groups[i], hist);
	add_call("other", "x", 1);
	text = written();
	CHECK_EQ(count_in(text, "_count{cgroup="), 3);
	CHECK_HAS(text, "_count{cgroup=\"other\"} 2\n", "{call=\"other\",comm=\"x\"} 1\n");
	CHECK_EQ(metrics_overflows(metrics), 0);
	hist_free(hist);
}

TEST(reasons_are_all_told)
{
	static const struct metric lost = { .name = "test_lost_total",
					    .help = "By reason.",
					    .has_few = true };
	char reason[32];

	for (size_t i = 0; i <= METRICS_MAX_SERIES; i++) {
		snprintf(reason, sizeof(reason), "reason-%zu", i);
		metrics_set(metrics, &lost, &(struct metric_labels){ { "reason" }, { reason }, 1 },
			    i);
	}
	CHECK_HAS(written(), "{reason=\"reason-0\"} 0\n", "{reason=\"reason-256\"} 256\n");
	CHECK_EQ(metrics_overflows(metrics), 0);
}

/* A machine whose containers come and go must not end with all of them in "other". */
TEST(a_full_metric_releases_idle_series)
{
	char *text;

	fill_but(1);
	written_at(1 * NS_PER_S);
	add_call("a", "x", 1);
	written_at(200 * NS_PER_S);
	CHECK_HAS(written_at(300 * NS_PER_S), "{call=\"call-1\",comm=\"x\"} 1\n");
	add_call("call-2", "x", 1);
	add_call("b", "x", 2);
	written_at(301 * NS_PER_S);
	add_call("c", "x", 4);
	text = written_at(302 * NS_PER_S);
	CHECK_HAS(text, "counter\ntest_calls_total{call=\"call-2\",comm=\"x\"} 2\n"
			"test_calls_total{call=\"a\",comm=\"x\"} 1\n"
			"test_calls_total{call=\"other\",comm=\"other\"} 2\n"
			"test_calls_total{call=\"c\",comm=\"x\"} 4\n");
}

/* With reports that far apart all series are as old before they come up in the next one. */
TEST(a_series_that_grew_in_this_report_is_not_idle)
{
	fill_but(0);
	written_at(1 * NS_PER_S);
	fill_but(0);
	written_at(401 * NS_PER_S);
	CHECK_EQ(count_in(written_at(402 * NS_PER_S), "} 2\n"), METRICS_MAX_SERIES);
}
