// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics: what is written of sums and histograms, how labels are escaped, how series are bounded.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "output/metrics.h"
#include "unit.h"

static const struct metric calls = {
	.name = "test_calls_total",
	.help = "Calls.",
	.labels = { "call", "comm" },
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
	.labels = { "cgroup" },
};

/* To be freed. */
__attribute__((returns_nonnull)) static char *write_metrics(const struct metrics *metrics)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	metrics_write(f, metrics);
	fclose(f);
	return text;
}

static void check_written(const struct metrics *metrics, const char *expected)
{
	char *text = write_metrics(metrics);

	CHECK_STR(text, expected);
	free(text);
}

TEST(sums_grow)
{
	struct metrics *metrics = metrics_new(10);

	metrics_add(metrics, &calls, (const char *[]){ "read", "cat" }, 3, 1);
	metrics_add(metrics, &calls, (const char *[]){ "write", "cat" }, 1, 1);
	metrics_add(metrics, &busy, NULL, 0, 1);
	metrics_add(metrics, &calls, (const char *[]){ "read", "cat" }, 4, 2);
	metrics_add(metrics, &busy, NULL, 1500000000, 2);
	check_written(metrics, "# HELP test_calls_total Calls.\n"
			       "# TYPE test_calls_total counter\n"
			       "test_calls_total{call=\"read\",comm=\"cat\"} 7\n"
			       "test_calls_total{call=\"write\",comm=\"cat\"} 1\n"
			       "# HELP test_busy_seconds_total Time.\n"
			       "# TYPE test_busy_seconds_total counter\n"
			       "test_busy_seconds_total 1.5\n");
	metrics_free(metrics);
}

TEST(totals_are_set)
{
	static const struct metric lost = { .name = "lost_total", .help = "Lost." };
	struct metrics *metrics = metrics_new(10);

	metrics_set(metrics, &lost, NULL, 7, 1);
	metrics_set(metrics, &lost, NULL, 9, 2);
	check_written(metrics,
		      "# HELP lost_total Lost.\n# TYPE lost_total counter\nlost_total 9\n");
	metrics_free(metrics);
}

TEST(label_values_are_escaped)
{
	struct metrics *metrics = metrics_new(10);
	char *text;

	metrics_add(metrics, &calls, (const char *[]){ "a\"b\\c\nd", "\033\xff\xc3\xa4" }, 1, 1);
	text = write_metrics(metrics);
	CHECK_HAS(text, "{call=\"a\\\"b\\\\c\\\\x0ad\",comm=\"\\\\x1b\\\\xff\xc3\xa4\"} 1\n");
	free(text);
	metrics_free(metrics);
}

/* Values that differ in where one ends and the next begins are two series. */
TEST(series_are_known_by_all_their_values)
{
	struct metrics *metrics = metrics_new(10);
	char *text;

	metrics_add(metrics, &calls, (const char *[]){ "ab", "c" }, 1, 1);
	metrics_add(metrics, &calls, (const char *[]){ "a", "bc" }, 2, 1);
	text = write_metrics(metrics);
	CHECK_HAS(text, "{call=\"ab\",comm=\"c\"} 1\n");
	CHECK_HAS(text, "{call=\"a\",comm=\"bc\"} 2\n");
	free(text);
	metrics_free(metrics);
}

/* Whoever names threads must not make a server refuse all that is said. */
TEST(values_of_one_text_are_one_series)
{
	struct metrics *metrics = metrics_new(10);

	metrics_add(metrics, &calls, (const char *[]){ "\001", "a\xff" }, 1, 1);
	metrics_add(metrics, &calls, (const char *[]){ "\\x01", "a\\xff" }, 2, 1);
	metrics_add(metrics, &calls, (const char *[]){ "\001", "a\\xff" }, 4, 2);
	metrics_add(metrics, &calls, (const char *[]){ "\n", "\"" }, 8, 2);
	metrics_add(metrics, &calls, (const char *[]){ "\\n", "\\\"" }, 16, 2);
	metrics_add(metrics, &calls, (const char *[]){ "\\x0a", "\"" }, 32, 2);
	check_written(metrics, "# HELP test_calls_total Calls.\n"
			       "# TYPE test_calls_total counter\n"
			       "test_calls_total{call=\"\\\\x01\",comm=\"a\\\\xff\"} 7\n"
			       "test_calls_total{call=\"\\\\x0a\",comm=\"\\\"\"} 40\n"
			       "test_calls_total{call=\"\\\\n\",comm=\"\\\\\\\"\"} 16\n");
	metrics_free(metrics);
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
	struct metrics *metrics = metrics_new(10);
	struct hist *hist = hist_of((uint64_t[]){ 0, 1, 2, 1500, 1536, 60000000 }, 6);
	const char *group[] = { "/a" };
	char *text;

	metrics_add_hist(metrics, &waits, group, hist, 1);
	text = write_metrics(metrics);
	CHECK_EQ(count_in(text, "_bucket{"), 26 * 2 + 2);
	CHECK_HAS(text, "# TYPE test_wait_seconds histogram\n"
			"test_wait_seconds_bucket{cgroup=\"/a\",le=\"2.5e-07\"} 1\n"
			"test_wait_seconds_bucket{cgroup=\"/a\",le=\"3.75e-07\"} 1\n"
			"test_wait_seconds_bucket{cgroup=\"/a\",le=\"5e-07\"} 1\n");
	CHECK_HAS(text, "le=\"1e-06\"} 1\n");
	CHECK_HAS(text, "le=\"1.5e-06\"} 2\n");
	CHECK_HAS(text, "le=\"2e-06\"} 2\n");
	CHECK_HAS(text, "le=\"3e-06\"} 3\n");
	CHECK_HAS(text, "le=\"0.001024\"} 3\n");
	CHECK_HAS(text, "le=\"0.001536\"} 4\n");
	CHECK_HAS(text, "le=\"0.002048\"} 5\n");
	CHECK_HAS(text, "le=\"16.777216\"} 5\n"
			"test_wait_seconds_bucket{cgroup=\"/a\",le=\"+Inf\"} 6\n"
			"test_wait_seconds_sum{cgroup=\"/a\"} 60.003039\n"
			"test_wait_seconds_count{cgroup=\"/a\"} 6\n");
	free(text);
	metrics_add_hist(metrics, &waits, group, hist, 2);
	text = write_metrics(metrics);
	CHECK_HAS(text, "le=\"0.001536\"} 8\n");
	CHECK_HAS(text, "_count{cgroup=\"/a\"} 12\n");
	free(text);
	hist_free(hist);
	metrics_free(metrics);
}

/* As promised for percentiles: whatever is recorded lies between its bucket's edges. */
TEST(values_lie_below_their_edge)
{
	static const struct metric plain = { "t_seconds", "T.", METRIC_HISTOGRAM };

	for (uint64_t us = 1; us < 16000000; us = us * 5 / 4 + 1) {
		struct metrics *metrics = metrics_new(1);
		struct hist *hist = hist_of(&us, 1);
		double edge = 0, below = 0;
		char *text, *at;

		metrics_add_hist(metrics, &plain, NULL, hist, 1);
		text = write_metrics(metrics);
		at = text;
		while ((at = strstr(at, "le=\""))) {
			edge = strtod(at + 4, &at);
			if (!strncmp(at, "\"} 1", 4))
				break;
			below = edge;
		}
		CHECK(below <= (double)us / 1e6 * 1.000001 && (double)us / 1e6 < edge);
		CHECK(edge <= below * 1.5 * 1.000001);
		free(text);
		hist_free(hist);
		metrics_free(metrics);
	}
}

TEST(what_is_too_much_is_other)
{
	struct metrics *metrics = metrics_new(2);
	char *text;

	metrics_add(metrics, &calls, (const char *[]){ "a", "x" }, 1, NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "b", "x" }, 2, NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "c", "x" }, 4, NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "d", "x" }, 8, NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "a", "x" }, 16, NS_PER_S);
	metrics_add(metrics, &busy, NULL, 5 * NS_PER_S, NS_PER_S);
	text = write_metrics(metrics);
	CHECK_HAS(text, "{call=\"a\",comm=\"x\"} 17\n"
			"test_calls_total{call=\"b\",comm=\"x\"} 2\n"
			"test_calls_total{call=\"other\",comm=\"other\"} 12\n");
	CHECK_HAS(text, "test_busy_seconds_total 5\n");
	CHECK_EQ(metrics_overflows(metrics), 2);
	free(text);
	metrics_free(metrics);
}

TEST(what_is_called_other_is_added_to_it)
{
	struct metrics *metrics = metrics_new(2);
	struct hist *hist = hist_of((uint64_t[]){ 1 }, 1);
	static const char *const groups[] = { "/a", "other", "/b", "/c", "other" };
	char *text;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		metrics_add_hist(metrics, &waits, &groups[i], hist, NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "other", "x" }, 1, NS_PER_S);
	text = write_metrics(metrics);
	CHECK_EQ(count_in(text, "_count{cgroup="), 3);
	CHECK_HAS(text, "_count{cgroup=\"other\"} 3\n");
	CHECK_HAS(text, "{call=\"other\",comm=\"x\"} 1\n");
	CHECK_EQ(metrics_overflows(metrics), 1);
	free(text);
	hist_free(hist);
	metrics_free(metrics);
}

TEST(reasons_are_all_told)
{
	static const struct metric lost = { .name = "test_lost_total",
					    .help = "By reason.",
					    .has_few = true,
					    .labels = { "reason" } };
	struct metrics *metrics = metrics_new(1);
	char *text;

	metrics_set(metrics, &lost, (const char *[]){ "map" }, 7, NS_PER_S);
	metrics_set(metrics, &lost, (const char *[]){ "ring" }, 5, NS_PER_S);
	metrics_set(metrics, &lost, (const char *[]){ "busy" }, 0, NS_PER_S);
	text = write_metrics(metrics);
	CHECK_HAS(text, "{reason=\"map\"} 7\n");
	CHECK_HAS(text, "{reason=\"ring\"} 5\n");
	CHECK_HAS(text, "{reason=\"busy\"} 0\n");
	CHECK_EQ(metrics_overflows(metrics), 0);
	free(text);
	metrics_free(metrics);
}

/* A machine whose containers come and go must not end with all of them in "other". */
TEST(an_idle_series_makes_room)
{
	struct metrics *metrics = metrics_new(2);
	char *text;

	metrics_add(metrics, &calls, (const char *[]){ "a", "x" }, 1, 1 * NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "b", "x" }, 2, 1 * NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "a", "x" }, 1, 200 * NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "c", "x" }, 4, 302 * NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "d", "x" }, 8, 303 * NS_PER_S);
	text = write_metrics(metrics);
	CHECK_HAS(text, "counter\ntest_calls_total{call=\"a\",comm=\"x\"} 2\n"
			"test_calls_total{call=\"c\",comm=\"x\"} 4\n"
			"test_calls_total{call=\"other\",comm=\"other\"} 8\n");
	free(text);
	metrics_free(metrics);
}

/* With reports that far apart all series are as old before they come up in the next one. */
TEST(what_grew_in_the_report_before_is_not_idle)
{
	struct metrics *metrics = metrics_new(2);
	char *text;

	metrics_add(metrics, &calls, (const char *[]){ "a", "x" }, 1, 1 * NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "b", "x" }, 2, 1 * NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "c", "x" }, 4, 401 * NS_PER_S);
	metrics_add(metrics, &calls, (const char *[]){ "a", "x" }, 1, 401 * NS_PER_S);
	text = write_metrics(metrics);
	CHECK_HAS(text, "counter\ntest_calls_total{call=\"a\",comm=\"x\"} 2\n"
			"test_calls_total{call=\"b\",comm=\"x\"} 2\n"
			"test_calls_total{call=\"other\",comm=\"other\"} 4\n");
	free(text);
	metrics_add(metrics, &calls, (const char *[]){ "d", "x" }, 8, 801 * NS_PER_S);
	text = write_metrics(metrics);
	CHECK_HAS(text, "counter\ntest_calls_total{call=\"a\",comm=\"x\"} 2\n"
			"test_calls_total{call=\"d\",comm=\"x\"} 8\n"
			"test_calls_total{call=\"other\",comm=\"other\"} 4\n");
	free(text);
	metrics_free(metrics);
}
