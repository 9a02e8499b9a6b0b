// SPDX-License-Identifier: GPL-2.0-only
/* A line for each call; see call_lines.h. */
#include <errno.h>
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

static void head_file(struct call_lines *lines)
{
	if (run_begins_file(lines->run, &lines->n_headed))
		fprintf(lines->run->out, "%-12s %-16s %7s %-14s %-16s %s\n", "TIME(s)", "COMM",
			"TID", "CALL", "ADDRESS", "BYTES");
}

static int print_call(void *ctx, void *data, size_t size)
{
	const struct memleak_event *event = data;
	struct call_lines *lines = ctx;
	const struct run *run = lines->run;
	char comm[4 * TASK_COMM_LEN];

	if (size < sizeof(*event) || event->kind >= ALLOC_KINDS)
		return 0;
	head_file(lines);
	fprintf(run->out, "%-12.6f %-16s %7u %-14s %016llx %llu\n",
		(double)(event->time_ns - run->start_ns) / (double)NS_PER_S,
		escape_string(comm, sizeof(comm), escape_no_name(event->comm), ""), event->tid,
		call_name(event), (unsigned long long)event->addr, (unsigned long long)event->size);
	return 0;
}

int call_lines_watch(struct call_lines *lines, struct run *run)
{
	run->prints_lines = true;
	lines->run = run;
	head_file(lines);
	lines->calls = ringbuf_watch(run, "memleak_events", print_call, lines);
	return lines->calls ? 0 : -EIO;
}

void call_lines_read(struct call_lines *lines)
{
	if (!lines->calls)
		return;
	head_file(lines);
	ringbuf_read(lines->calls);
}

void call_lines_close(struct call_lines *lines)
{
	ringbuf_close(lines->calls);
}
