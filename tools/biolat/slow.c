// SPDX-License-Identifier: GPL-2.0-only
/* Slow requests; see slow.h. */
#include <string.h>

#include "abi/biolat.h"
#include "base/array.h"
#include "base/clock.h"
#include "biolat/groups.h"
#include "biolat/slow.h"
#include "modules/cgroup_filter.h"
#include "output/writer.h"
#include "stacks/stacks.h"

struct slow {
	struct cgroups *cgroups;
};

DEFINE_STATE(struct slow, slow_of, slow_module)

/* A request's stack. sample NULL: none. */
struct slow_stack {
	const struct sample *sample;
	const struct writer_style *style;
};

static void print_lines(FILE *f, const void *data)
{
	const struct slow_stack *stack = data;

	if (stack->sample)
		writer_print_lines(f, stack->sample, stack->style);
}

static void print_frames(FILE *f, const void *sample)
{
	if (sample)
		writer_print_frames(f, sample);
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
	{ .kind = CELL_NESTED, .print = print_lines },
	{ "frames", .kind = CELL_NESTED, .print = print_frames,
	  .print_json = writer_print_json_frames },
};

static const struct table table = { "slow_request", columns, ARRAY_SIZE(columns), ~0U,
				    .in_ms = true };

static const struct sample *find_stack(struct run *run, const struct biolat_slow *request)
{
	struct stack_key key = { .user_id = request->user_id, .kernel_id = request->kernel_id };

	memcpy(key.comm, request->comm, sizeof(key.comm));
	return stacks_event(run, &key);
}

static void write_line(struct run *run, struct table_output *to, const struct biolat_slow *request,
		       const struct sample *sample)
{
	bool is_text = to->format == &text_table;
	const struct slow_stack stack = { is_text ? sample : NULL, stacks_style(run) };
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
		{ .n = process_is_kernels(request->tgid) ? 0 : request->tgid },
		{ .text = request->comm },
		{ .text = cgroup ? cgroup->path : "" },
		{ .data = &stack },
		{ .is_unknown = !sample, .data = is_text ? NULL : sample },
	};

	table_row(to, &table, cells);
}

/* With stacks, prints the requests that --only and --without select. */
static void write_request(struct run *run, struct table_output *to, const void *record)
{
	const struct biolat_slow *request = record;
	const struct sample *sample;

	if (!groups_want_stacks(run)) {
		write_line(run, to, request, NULL);
		return;
	}
	sample = find_stack(run, request);
	if (sample)
		write_line(run, to, request, sample);
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
	.state = ZEROES(struct slow),
	.start = start_slow,
	.finish = finish_slow,
};
