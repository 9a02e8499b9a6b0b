// SPDX-License-Identifier: GPL-2.0-only
/* Metrics for Prometheus; see exposition.h. */
#include "base/version.h"
#include "modules/exposition.h"
#include "run/loss.h"

struct exposition {
	struct metrics *metrics; /* NULL: not requested, or no report yet */
};

static const struct exposition defaults;

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

static struct exposition *exposition_of(const struct run *run)
{
	return run_state(run, &exposition_module);
}

struct metrics *exposition_metrics(const struct run *run)
{
	struct exposition *exposition = exposition_of(run);

	if (!exposition->metrics)
		exposition->metrics = metrics_new();
	return exposition->metrics;
}

static void set_loss(const char *reason, uint64_t value, void *arg)
{
	const struct run *run = arg;
	const struct metric_labels labels = { { "tool", "reason" },
					      { run->tool->name, reason },
					      2 };

	metrics_set(exposition_metrics(run), &lost_metric, &labels, value);
}

void exposition_write(struct run *run)
{
	struct metrics *metrics = exposition_metrics(run);
	struct metric_labels labels = {
		{ "tool", "version", "kernel" },
		{ run->tool->name, TRACELETS_VERSION, run->system.release },
		1,
	};

	loss_visit(run, set_loss, run);
	metrics_set(metrics, &overflow_metric, &labels, metrics_overflows(metrics));
	labels.n = 3;
	metrics_set(metrics, &build_metric, &labels, 1);
	metrics_write(run->out, metrics, run->end_ns);
}

static void finish_exposition(struct run *run)
{
	metrics_free(exposition_of(run)->metrics);
}

const struct module exposition_module = {
	.state = DEFAULTS(defaults),
	.has_metrics = true,
	.finish = finish_exposition,
};
