// SPDX-License-Identifier: GPL-2.0-only
/* Metrics for Prometheus; see exposition.h. */
#include "base/msg.h"
#include "base/version.h"
#include "modules/exposition.h"
#include "run/loss.h"

struct exposition {
	uint32_t max_series;
	struct metrics *metrics; /* NULL: not requested, or no report yet */
};

static const struct exposition defaults = { .max_series = 256 };

static const struct metric lost_metric = {
	.name = "tracelets_lost_total",
	.help = "Lost events, or threads without state, by reason.",
	.has_few = true,
	.labels = { "tool", "reason" },
};

static const struct metric overflow_metric = {
	.name = "tracelets_series_overflow_total",
	.help = "Updates of the series other, after --max-series was reached.",
	.labels = { "tool" },
};

static const struct metric build_metric = {
	.name = "tracelets_build_info",
	.help = "Program and kernel version; always 1.",
	.kind = METRIC_GAUGE,
	.labels = { "tool", "version", "kernel" },
};

static const struct opt exposition_opts[] = {
	{ 0, "max-series", "N", OPT_UINT(struct exposition, max_series, 1, 1 << 20),
	  "maximum series per metric, rest as \"other\" (default 256)" },
	{},
};

static struct exposition *exposition_of(const struct run *run)
{
	return run_state(run, &exposition_module);
}

static int check_exposition(struct run *run)
{
	if (run_given(run, "max-series") && !run->is_metrics)
		return msg_error("--max-series needs --format prometheus");
	return 0;
}

struct metrics *exposition_metrics(const struct run *run)
{
	struct exposition *exposition = exposition_of(run);

	if (!exposition->metrics)
		exposition->metrics = metrics_new(exposition->max_series);
	return exposition->metrics;
}

static void set_loss(const char *reason, uint64_t value, void *arg)
{
	const struct run *run = arg;
	const char *values[] = { run->tool->name, reason };

	metrics_set(exposition_metrics(run), &lost_metric, values, value, run->end_ns);
}

void exposition_write(struct run *run)
{
	struct metrics *metrics = exposition_metrics(run);
	const char *values[] = { run->tool->name, TRACELETS_VERSION, run->system.release };

	loss_visit(run, set_loss, run);
	metrics_set(metrics, &overflow_metric, values, metrics_overflows(metrics), run->end_ns);
	metrics_set(metrics, &build_metric, values, 1, run->end_ns);
	metrics_write(run->out, metrics);
}

static void finish_exposition(struct run *run)
{
	metrics_free(exposition_of(run)->metrics);
}

const struct module exposition_module = {
	.title = "metrics",
	.opts = exposition_opts,
	.state = DEFAULTS(defaults),
	.has_metrics = true,
	.check = check_exposition,
	.finish = finish_exposition,
};
