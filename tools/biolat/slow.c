// SPDX-License-Identifier: GPL-2.0-only
/* Slow requests; see slow.h. */
#include "abi/biolat.h"
#include "base/array.h"
#include "base/clock.h"
#include "biolat/groups.h"
#include "biolat/slow.h"
#include "modules/cgroup_filter.h"

struct slow {
	struct cgroups *cgroups;
};

static const struct slow defaults;

static struct slow *slow_of(const struct run *run)
{
	return run_state(run, &slow_module);
}

/* Columns of a request. JSON and CSV have nanoseconds, text milliseconds. */
static const struct table_column columns[] = {
	{ .title = "TIME", .width = -8 },
	{ "time_unix_ns", .kind = CELL_UINT },
	{ "disk", "DISK", .width = -10 },
	{ "operation", "OPERATION", .width = -16 },
	{ "sector", "SECTOR", CELL_UINT, 11 },
	{ "bytes", "BYTES", CELL_UINT, 8 },
	{ .title = "QUEUE", .kind = CELL_TIME, .width = 10 },
	{ "queue_ns", .kind = CELL_UINT },
	{ .title = "DEVICE", .kind = CELL_TIME, .width = 11 },
	{ "device_ns", .kind = CELL_UINT },
	{ "pid", "PID", CELL_UINT, 7 },
	{ "comm", "COMM", CELL_COMM, -16 },
	{ "path", "CGROUP", .width = -1 },
};

static const struct table table = { "slow_request", columns, ARRAY_SIZE(columns), ~0U,
				    .in_ms = true };

static void write_request(struct run *run, struct table_output *to, const void *record)
{
	const struct biolat_slow *request = record;
	const struct cgroup *cgroup = cgroups_find(slow_of(run)->cgroups, request->cgroup);
	char time[CLOCK_TIME_OF_DAY_SIZE], op[HIST_TEXT_MAX];
	const struct cell cells[] = {
		{ .text = clock_time_of_day(time) },
		{ .n = clock_wall_ns() },
		{ .text = request->disk },
		{ .text = groups_operation(request->key, op) },
		{ .n = request->sector },
		{ .n = request->bytes },
		{ .n = request->queue_ns },
		{ .n = request->queue_ns },
		{ .n = request->device_ns },
		{ .n = request->device_ns },
		{ .n = request->tgid == PROCESS_WRITEBACK ? 0 : request->tgid },
		{ .text = request->comm },
		{ .text = cgroup ? cgroup->path : "" },
	};

	table_row(to, &table, cells);
}

const struct events_spec slow_events = {
	.map = "slow_requests",
	.size = sizeof(struct biolat_slow),
	.table = &table,
	.write = write_request,
};

static int start_slow(struct run *run)
{
	return cgroup_names_start(run, &slow_of(run)->cgroups);
}

static void finish_slow(struct run *run)
{
	cgroups_free(slow_of(run)->cgroups);
}

const struct module slow_module = {
	.state = DEFAULTS(defaults),
	.start = start_slow,
	.finish = finish_slow,
};
