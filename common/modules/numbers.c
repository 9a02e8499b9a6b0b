// SPDX-License-Identifier: GPL-2.0-only
/* Reports of numbers; see numbers.h. */
#include "base/clock.h"
#include "base/version.h"
#include "modules/numbers.h"
#include "run/loss.h"

struct numbers {
	struct table_output output;
	unsigned int n_begun; /* see run_begins_file() */
};

static const struct metric lost_metric = {
	.name = "tracelets_lost_total",
	.help = "Lost events, or threads without state, by reason.",
	.has_few = true,
};

static const struct metric overflow_metric = {
	.name = "tracelets_series_overflow_total",
	.help = "Updates of the series other, after a metric had 256 series.",
};

static const struct metric build_metric = {
	.name = "tracelets_build_info",
	.help = "Program and kernel version; always 1.",
	.kind = METRIC_GAUGE,
};

struct metrics *numbers_metrics(const struct run *run)
{
	struct numbers *numbers = run_state(run, &numbers_module);

	if (!numbers->output.metrics)
		numbers->output.metrics = metrics_new();
	return numbers->output.metrics;
}

struct table_output *numbers_begin(struct run *run)
{
	struct numbers *numbers = run_state(run, &numbers_module);
	struct table_output *output = &numbers->output;

	output->f = run->out;
	output->format = run->table_format;
	output->duration_ns = run->end_ns - run->report_start_ns;
	output->start_unix_ns = clock_wall_at(run->end_ns) - output->duration_ns;
	if (run_begins_file(run, &numbers->n_begun))
		output->has_head = false;
	if (output->format == &json_table)
		run_facts_print(run);
	else if (output->format->has_totals)
		numbers_metrics(run);
	return output;
}

static void set_loss(const char *reason, uint64_t value, void *arg)
{
	const struct run *run = arg;
	const struct metric_labels labels = { { "tool", "reason" },
					      { run->tool->name, reason },
					      2 };

	metrics_set(numbers_metrics(run), &lost_metric, &labels, value);
}

void numbers_end(struct run *run)
{
	struct metric_labels labels = {
		{ "tool", "version", "kernel" },
		{ run->tool->name, TRACELETS_VERSION, run->system.release },
		1,
	};
	struct metrics *metrics;

	if (!run->is_metrics)
		return;
	metrics = numbers_metrics(run);
	loss_visit(run, set_loss, run);
	metrics_set(metrics, &overflow_metric, &labels, metrics_overflows(metrics));
	labels.n = 3;
	metrics_set(metrics, &build_metric, &labels, 1);
	metrics_write(run->out, metrics, run->end_ns);
}

static void finish_numbers(struct run *run)
{
	struct numbers *numbers = run_state(run, &numbers_module);

	metrics_free(numbers->output.metrics);
}

const struct module numbers_module = {
	.state = ZEROES(struct numbers),
	.has_metrics = true,
	.finish = finish_numbers,
};
