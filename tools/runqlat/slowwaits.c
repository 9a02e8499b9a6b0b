// SPDX-License-Identifier: GPL-2.0-only
/* Long waits; see slowwaits.h. */
#include <errno.h>

#include "abi/runqlat.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/escape.h"
#include "output/table.h"
#include "run/bpfmap.h"
#include "run/ringbuf.h"
#include "run/loss.h"
#include "runqlat/slowwaits.h"

struct slowwaits {
	struct ringbuf *events;
	struct table_output output;
	uint32_t n_headed; /* counter for run_begins_file() */
};

static const struct slowwaits defaults;

static struct slowwaits *slowwaits_of(const struct run *run)
{
	return run_state(run, &slowwaits_module);
}

/* Columns of a wait. JSON and CSV have nanoseconds. */
static const struct table_column columns[] = {
	{ .title = "TIME", .width = -8 },
	{ "time_unix_ns", .kind = CELL_UINT },
	{ "cpu", "CPU", CELL_UINT, 3 },
	{ "comm", "COMM", CELL_COMM, -16 },
	{ "tid", "TID", CELL_UINT, 7 },
	{ .title = "LAT(us)", .kind = CELL_UINT, .width = 12 },
	{ "delay_ns", .kind = CELL_UINT },
	{ .title = "PREV COMM", .width = -16 },
	{ "previous_comm", .kind = CELL_COMM },
	{ "previous_tid", "PREV", CELL_UINT, 7 },
};

static const struct table table = { "slow_wait", columns, ARRAY_SIZE(columns), ~0U };

static void write_wait(struct table_output *to, const struct runqlat_slow *slow)
{
	bool is_known = slow->prev_tid || *slow->prev_comm;
	char time[CLOCK_TIME_OF_DAY_SIZE];
	const struct cell cells[] = {
		{ .text = clock_time_of_day(time) },
		{ .n = clock_wall_ns() },
		{ .n = slow->cpu },
		{ .text = slow->comm },
		{ .n = slow->tid },
		{ .n = slow->delay_ns / NS_PER_US },
		{ .n = slow->delay_ns },
		{ .text = is_known ? escape_no_name(slow->prev_comm) : "[unknown]" },
		{ .text = slow->prev_comm },
		{ .n = slow->prev_tid },
	};

	table_row(to, &table, cells);
}

/* Prints the facts that precede the waits; losses follow the waits. */
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
	struct slowwaits *waits = slowwaits_of(run);

	if (!run_begins_file(run, &waits->n_headed))
		return;
	waits->output = (struct table_output){ .f = run->out, .format = run->table_format };
	if (run->table_format == &json_table)
		print_facts(run);
	table_head(&waits->output, &table);
}

static int print_wait(void *ctx, void *data, size_t size)
{
	struct run *run = ctx;

	if (size < sizeof(struct runqlat_slow))
		return 0;
	head_file(run);
	write_wait(&slowwaits_of(run)->output, data);
	run->recorded++;
	return 0;
}

static int leave_out_slowwaits(struct run *run)
{
	map_leave_out(run, "slow_waits");
	return 0;
}

static int attach_slowwaits(struct run *run)
{
	struct slowwaits *waits = slowwaits_of(run);

	run->prints_lines = true;
	head_file(run);
	waits->events = ringbuf_watch(run, "slow_waits", print_wait, run);
	return waits->events ? 0 : -EIO;
}

static void finish_slowwaits(struct run *run)
{
	ringbuf_close(slowwaits_of(run)->events);
}

int slowwaits_report(struct run *run)
{
	head_file(run);
	ringbuf_read(slowwaits_of(run)->events);
	if (run->table_format == &json_table)
		run_facts_print(run);
	return 0;
}

const struct module slowwaits_module = {
	.state = DEFAULTS(defaults),
	.leave_out = leave_out_slowwaits,
	.attach = attach_slowwaits,
	.finish = finish_slowwaits,
};
