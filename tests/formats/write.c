// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the samples in a format, "write folded", or metrics, "write prometheus", for other
 * programs to read.
 */
#include "base/array.h"
#include "base/clock.h"
#include "output/metrics.h"
#include "output/writer.h"
#include "samples.h"

static const struct metric waits = {
	.name = "tracelets_test_wait_seconds",
	.help = "How long threads waited.",
	.kind = METRIC_HISTOGRAM,
};

static const struct metric faults = {
	.name = "tracelets_test_faults_total",
	.help = "Page faults.",
};

/* Values of all sizes, more of the small ones, from 100 ns to above the last edge. */
static struct hist *make_hist(void)
{
	struct hist *hist = hist_new();
	uint64_t n = 200;

	for (uint64_t ns = 100; ns < 5 * NS_PER_S; ns = ns * 9 / 8) {
		for (uint64_t i = 0; i < n; i++)
			hist_record(hist, hist_fixed(&hist_usecs, ns + i * ns / 8 / n));
		if (n > 1)
			n--;
	}
	hist_record(hist, hist_fixed(&hist_usecs, 60 * NS_PER_S));
	return hist;
}

static void add_waits(struct metrics *metrics, const char *cgroup, const struct hist *hist)
{
	const struct metric_labels labels = { { "cgroup", "container_id" }, { cgroup, "00ff" }, 2 };

	metrics_add_hist(metrics, &waits, &labels, hist);
}

/* Hostile labels, and one series too many. */
static void write_metrics(void)
{
	struct metrics *metrics = metrics_new();
	struct hist *hist = make_hist();
	struct metric_labels labels = { { "comm" }, { SAMPLES_HOSTILE }, 1 };
	char comm[16];

	add_waits(metrics, SAMPLES_HOSTILE, hist);
	add_waits(metrics, "/a", hist);
	for (int i = 0; i <= METRICS_MAX_SERIES; i++) {
		metrics_add(metrics, &faults, &labels, 1);
		snprintf(comm, sizeof(comm), "comm-%d", i);
		labels.values[0] = comm;
	}
	metrics_write(stdout, metrics, 0);
	metrics_free(metrics);
	hist_free(hist);
}

/* Prints the tool's own percentiles of these values, in seconds: "0.99 0.0123". */
static void write_percentiles(void)
{
	static const double percents[] = { 50, 75, 90, 99 };
	struct hist *hist = make_hist();

	for (size_t i = 0; i < ARRAY_SIZE(percents); i++)
		printf("%g %g\n", percents[i] / 100,
		       hist_percentile(hist, &hist_usecs, percents[i]) / 1e6);
	hist_free(hist);
}

/* A wait of each sample, one after the other. */
static void add_events(struct profile *p)
{
	static struct event events[16];
	size_t n = profile_count(p);

	for (size_t i = 0; i < n && i < ARRAY_SIZE(events); i++)
		events[i] = (struct event){ .end_ns = (i + 1) * 10 * NS_PER_MS,
					    .value = 8 * NS_PER_MS,
					    .part = 3 * NS_PER_MS,
					    .kind = EVENT_WAIT,
					    .sample = profile_sample(p, i) };
	profile_set_events(p, events, n);
}

int main(int argc, char **argv)
{
	const struct writer_facts facts = {
		.tool = "profile",
		.host = "host",
		.kernel = "6.1",
		.end_unix_ns = 1700000000000000000,
		.duration_ns = 1000000000,
	};
	struct writer_style style = { .facts = &facts };
	const struct writer *writer = argc >= 2 ? writer_by_name(argv[1]) : NULL;
	struct profile *p;

	if (argc == 2 && !writer) {
		if (!strcmp(argv[1], "prometheus"))
			write_metrics();
		else if (!strcmp(argv[1], "percentiles"))
			write_percentiles();
		else
			return 2;
		return ferror(stdout) || fflush(stdout);
	}
	if (!writer)
		return 2;
	p = samples_make(writer->in_time ? "nanoseconds" : "samples");
	add_events(p);
	writer->write(stdout, p, &style);
	profile_free(p);
	return ferror(stdout) || fflush(stdout);
}
