// SPDX-License-Identifier: GPL-2.0-only
/* Metrics of waits; see wait_metrics.h. */
#include <string.h>

#include "base/clock.h"
#include "modules/exposition.h"
#include "offcputime/wait_metrics.h"
#include "offcputime/wait_states.h"

static const struct metric seconds_metric = {
	.name = "tracelets_offcputime_seconds_total",
	.help = "Time that threads were off CPU, by state.",
	.divisor = NS_PER_S,
	.labels = { "state", "part" },
};

/* With one part only, the values are all of it. */
static void add_sample(struct run *run, const struct sample *sample)
{
	struct metrics *metrics = exposition_metrics(run);
	bool only_blocked = run_given(run, "blocked"), only_runnable = run_given(run, "runnable");
	uint64_t runnable_ns = only_runnable ? sample->value : sample->columns[0];
	bool is_throttled = sample->remark && !strcmp(sample->remark, wait_remarks[WAIT_THROTTLED]);
	const char state[] = { sample->state, 0 };
	const char *blocked[] = { state, "blocked" };
	const char *runnable[] = { state, is_throttled ? "throttled" : "runnable" };

	if (!only_runnable)
		metrics_add(metrics, &seconds_metric, blocked, sample->value - runnable_ns,
			    run->end_ns);
	if (!only_blocked)
		metrics_add(metrics, &seconds_metric, runnable, runnable_ns, run->end_ns);
}

void wait_metrics_add(struct run *run, const struct profile *profile)
{
	for (size_t i = 0; i < profile_count(profile); i++)
		add_sample(run, profile_sample(profile, i));
	exposition_write(run);
}
