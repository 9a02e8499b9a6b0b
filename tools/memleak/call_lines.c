// SPDX-License-Identifier: GPL-2.0-only
/* A line for each call; see call_lines.h. */
#include <stdio.h>

#include "abi/memleak.h"
#include "base/clock.h"
#include "base/escape.h"
#include "memleak/allocators.h"
#include "memleak/call_lines.h"

static const char *call_name(const struct memleak_event *event)
{
	if (!event->in_kernel)
		return alloc_kind_traits(event->kind)->name;
	return event->kind < ALLOC_FREE ? "alloc" : "free";
}

static int print_call(void *ctx, void *data, size_t size)
{
	const struct memleak_event *event = data;
	const struct run *run = ctx;
	char comm[4 * TASK_COMM_LEN];

	if (size < sizeof(*event) || event->kind >= ALLOC_KINDS)
		return 0;
	fprintf(run->out, "%-12.6f %-16s %7u %-14s %016llx %llu\n",
		(double)(event->time_ns - run->start_ns) / (double)NS_PER_S,
		escape_string(comm, sizeof(comm), event->comm, ""), event->tid, call_name(event),
		(unsigned long long)event->addr, (unsigned long long)event->size);
	return 0;
}

struct ringbuf *call_lines_watch(struct run *run)
{
	run->prints_lines = true;
	fprintf(run->out, "%-12s %-16s %7s %-14s %-16s %s\n", "TIME(s)", "COMM", "TID", "CALL",
		"ADDRESS", "BYTES");
	return ringbuf_watch(run, "memleak_events", print_call, run);
}
