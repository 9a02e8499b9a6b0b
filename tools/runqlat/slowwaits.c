// SPDX-License-Identifier: GPL-2.0-only
/* Long waits; see slowwaits.h. */
#include "abi/runqlat.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/escape.h"
#include "runqlat/slowwaits.h"

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

static void write_wait(struct run *run, struct table_output *to, const void *record)
{
	const struct runqlat_slow *slow = record;
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

	(void)run;
	table_row(to, &table, cells);
}

const struct events_spec slowwaits_events = {
	.map = "slow_waits",
	.size = sizeof(struct runqlat_slow),
	.table = &table,
	.write = write_wait,
};
