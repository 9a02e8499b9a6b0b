// SPDX-License-Identifier: GPL-2.0-only
/* Prints single events; see events.h. */
#include <errno.h>

#include "modules/events.h"
#include "run/bpfmap.h"
#include "run/loss.h"
#include "run/ringbuf.h"

struct events {
	struct ringbuf *ring;
	struct table_output output;
	uint32_t n_headed; /* counter for run_begins_file() */
};

DEFINE_STATE(struct events, events_of, events_module)

static const struct events_spec *spec_of(const struct run *run)
{
	return run_spec(run, &events_module);
}

/* Prints the run's facts that precede the events; losses follow the events. */
static void print_facts(struct run *run)
{
	uint64_t end_ns = run->end_ns;
	struct writer_facts facts;

	run->end_ns = run->report_start_ns;
	facts = run_facts(run);
	facts.lost = 0;
	writer_print_facts(run->out, &facts, run->tool->unit);
	run->end_ns = end_ns;
}

static void head_file(struct run *run)
{
	struct events *events = events_of(run);

	if (!run_begins_file(run, &events->n_headed))
		return;
	events->output = (struct table_output){ .f = run->out, .format = run->table_format };
	if (run->table_format == &json_table)
		print_facts(run);
	table_head(&events->output, spec_of(run)->table);
}

static int print_event(void *ctx, void *data, size_t size)
{
	struct run *run = ctx;
	const struct events_spec *spec = spec_of(run);

	if (size < spec->size)
		return 0;
	head_file(run);
	spec->write(run, &events_of(run)->output, data);
	run->recorded++;
	return 0;
}

static int leave_out_events(struct run *run)
{
	map_leave_out(run, spec_of(run)->map);
	return 0;
}

static int attach_events(struct run *run)
{
	struct events *events = events_of(run);

	run->prints_lines = true;
	head_file(run);
	events->ring = ringbuf_watch(run, spec_of(run)->map, print_event, run);
	return events->ring ? 0 : -EIO;
}

static void finish_events(struct run *run)
{
	ringbuf_close(events_of(run)->ring);
}

int events_report(struct run *run)
{
	head_file(run);
	ringbuf_read(events_of(run)->ring);
	if (run->table_format == &json_table)
		run_facts_print(run);
	return 0;
}

const struct module events_module = {
	.state = ZEROES(struct events),
	.leave_out = leave_out_events,
	.attach = attach_events,
	.finish = finish_events,
};
