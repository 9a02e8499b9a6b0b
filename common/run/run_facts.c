// SPDX-License-Identifier: GPL-2.0-only
/* Facts about a run, for its reports; see run_facts.h. */
#include "base/clock.h"
#include "run/loss.h"
#include "run/run_facts.h"

/* Losses while a report is written belong to the next one. */
static uint64_t take_lost(struct run *run)
{
	run->losses.reported = loss_value(run);
	return run->losses.reported - run->losses.reported_before;
}

struct writer_facts run_facts(struct run *run)
{
	return (struct writer_facts){
		.tool = run->tool->name,
		.host = run->system.nodename,
		.kernel = run->system.release,
		.event = run->event,
		.period = run->period,
		.end_unix_ns = clock_wall_at(run->end_ns),
		.duration_ns = run->end_ns - run->report_start_ns,
		.lost = take_lost(run),
	};
}

void run_facts_print(struct run *run)
{
	struct writer_facts facts = run_facts(run);

	writer_print_facts(run->out, &facts, run->tool->unit);
}
