// SPDX-License-Identifier: GPL-2.0-only
/* Waits that took long; see slowwaits.h. */
#include <errno.h>

#include "abi/runqlat.h"
#include "base/clock.h"
#include "base/escape.h"
#include "output/json.h"
#include "run/bpfmap.h"
#include "run/ringbuf.h"
#include "run/loss.h"
#include "runqlat/slowwaits.h"

struct slowwaits {
	struct ringbuf *events;
	uint32_t n_headed; /* files */
};

static const struct slowwaits defaults;

static struct slowwaits *slowwaits_of(const struct run *run)
{
	return run_state(run, &slowwaits_module);
}

static void print_text(FILE *f, const struct runqlat_slow *slow)
{
	char text[CLOCK_TIME_OF_DAY_SIZE], comm[4 * TASK_COMM_LEN], prev[4 * TASK_COMM_LEN];

	fprintf(f, "%-8s %3u %-16s %7u %12llu %-16s %7u\n", clock_time_of_day(text), slow->cpu,
		escape_string(comm, sizeof(comm), escape_no_name(slow->comm), ""), slow->tid,
		(unsigned long long)(slow->delay_ns / NS_PER_US),
		slow->prev_tid || *slow->prev_comm
			? escape_string(prev, sizeof(prev), escape_no_name(slow->prev_comm), "")
			: "[unknown]",
		slow->prev_tid);
}

static void print_json(FILE *f, const struct runqlat_slow *slow)
{
	struct json json = json_begin_line(f, "slow_wait");

	json_uint(&json, "time_unix_ns", clock_wall_ns());
	json_uint(&json, "cpu", slow->cpu);
	json_text(&json, "comm", slow->comm);
	json_uint(&json, "tid", slow->tid);
	json_uint(&json, "delay_ns", slow->delay_ns);
	json_text(&json, "previous_comm", slow->prev_comm);
	json_uint(&json, "previous_tid", slow->prev_tid);
	json_end_line(&json);
}

/* Losses are reported after the waits. */
static void print_head(struct run *run)
{
	uint64_t end_ns = run->end_ns;
	struct writer_facts facts;

	if (!run->is_json) {
		fprintf(run->out, "%-8s %3s %-16s %7s %12s %-16s %7s\n", "TIME", "CPU", "COMM",
			"TID", "LAT(us)", "PREV COMM", "PREV");
		return;
	}
	run->end_ns = run->report_start_ns;
	facts = run_facts(run);
	facts.lost = 0;
	writer_print_facts(run->out, &facts, run->tool->unit);
	run->end_ns = end_ns;
}

static void head_file(struct run *run)
{
	if (run_begins_file(run, &slowwaits_of(run)->n_headed))
		print_head(run);
}

static int print_wait(void *ctx, void *data, size_t size)
{
	struct run *run = ctx;

	if (size < sizeof(struct runqlat_slow))
		return 0;
	head_file(run);
	if (run->is_json)
		print_json(run->out, data);
	else
		print_text(run->out, data);
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
	if (run->is_json)
		run_facts_print(run);
	return 0;
}

const struct module slowwaits_module = {
	.state = DEFAULTS(defaults),
	.leave_out = leave_out_slowwaits,
	.attach = attach_slowwaits,
	.finish = finish_slowwaits,
};
