// SPDX-License-Identifier: GPL-2.0-only
/* What a report tells of its run; see facts.h. */
#include <sys/utsname.h>

#include "base/clock.h"
#include "run/run_facts.h"
#include "run/loss.h"

struct writer_facts facts_of(const struct run *run)
{
	static struct utsname system;

	uname(&system);
	return (struct writer_facts){
		.tool = run->tool->name,
		.host = system.nodename,
		.kernel = system.release,
		.event = run->event,
		.period = run->period,
		.end_unix_ns = clock_wall_ns(),
		.duration_ns = run->end_ns - run->report_start_ns,
		.lost = loss_value(run),
	};
}

void facts_print(struct run *run)
{
	struct writer_facts facts = facts_of(run);

	writer_print_facts(run->out, &facts, run->tool->unit);
}
