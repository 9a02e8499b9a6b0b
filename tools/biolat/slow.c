// SPDX-License-Identifier: GPL-2.0-only
/* Slow requests; see slow.h. */
#include <errno.h>

#include "abi/biolat.h"
#include "base/array.h"
#include "base/clock.h"
#include "biolat/groups.h"
#include "biolat/slow.h"
#include "modules/cgroup_filter.h"
#include "output/table.h"
#include "run/bpfmap.h"
#include "run/loss.h"
#include "run/ringbuf.h"

struct slow {
	struct ringbuf *events;
	struct cgroups *cgroups;
	struct table_output output;
	uint32_t n_headed; /* counter for run_begins_file() */
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

static void write_request(struct slow *slow, const struct biolat_slow *request)
{
	const struct cgroup *cgroup = cgroups_find(slow->cgroups, request->cgroup);
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

	table_row(&slow->output, &table, cells);
}

/* Prints the run's facts that precede the requests; losses follow the requests. */
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
	struct slow *slow = slow_of(run);

	if (!run_begins_file(run, &slow->n_headed))
		return;
	slow->output = (struct table_output){ .f = run->out, .format = run->table_format };
	if (run->table_format == &json_table)
		print_facts(run);
	table_head(&slow->output, &table);
}

static int print_request(void *ctx, void *data, size_t size)
{
	struct run *run = ctx;

	if (size < sizeof(struct biolat_slow))
		return 0;
	head_file(run);
	write_request(slow_of(run), data);
	run->recorded++;
	return 0;
}

static int leave_out_slow(struct run *run)
{
	map_leave_out(run, "slow_requests");
	return 0;
}

static int start_slow(struct run *run)
{
	return cgroup_names_start(run, &slow_of(run)->cgroups);
}

static int attach_slow(struct run *run)
{
	struct slow *slow = slow_of(run);

	run->prints_lines = true;
	head_file(run);
	slow->events = ringbuf_watch(run, "slow_requests", print_request, run);
	return slow->events ? 0 : -EIO;
}

static void finish_slow(struct run *run)
{
	ringbuf_close(slow_of(run)->events);
	cgroups_free(slow_of(run)->cgroups);
}

int slow_report(struct run *run)
{
	head_file(run);
	ringbuf_read(slow_of(run)->events);
	if (run->table_format == &json_table)
		run_facts_print(run);
	return 0;
}

const struct module slow_module = {
	.state = DEFAULTS(defaults),
	.leave_out = leave_out_slow,
	.start = start_slow,
	.attach = attach_slow,
	.finish = finish_slow,
};
