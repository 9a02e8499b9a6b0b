// SPDX-License-Identifier: GPL-2.0-only
/* Metrics of waits; see wait_metrics.h. */
#include "base/clock.h"
#include "modules/exposition.h"
#include "offcputime/wait_metrics.h"
#include "offcputime/wait_states.h"

static const struct metric seconds_metric = {
	.name = "tracelets_offcputime_seconds_total",
	.help = "How long threads were off CPU, by the state they waited in.",
	.divisor = NS_PER_S,
	.labels = { "state", "part" },
};

void wait_metrics_add(struct run *run, const struct profile *profile)
{
	struct metrics *metrics = exposition_metrics(run);

	for (size_t i = 0; i < profile_count(profile); i++) {
		const struct sample *sample = profile_sample(profile, i);
		const char state[] = { sample->state, 0 };
		bool is_throttled = sample->remark == wait_remarks[WAIT_THROTTLED];
		const char *blocked[] = { state, "blocked" };
		const char *runnable[] = { state, is_throttled ? "throttled" : "runnable" };

		metrics_add(metrics, &seconds_metric, blocked, sample->value - sample->columns[0],
			    run->end_ns);
		metrics_add(metrics, &seconds_metric, runnable, sample->columns[0], run->end_ns);
	}
	exposition_write(run);
}
