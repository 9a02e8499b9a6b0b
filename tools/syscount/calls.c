// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls from the loader's side; see calls.h. The array of calls by number is never reset: a
 * report shows what has come since the one before. Tables by key take turns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "run/bpfmap.h"
#include "syscount/calls.h"
#include "run/run_facts.h"
#include "syscount/in_flight.h"
#include "modules/kernelnames.h"
#include "run/loss.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/readfile.h"
#include "modules/taskstate.h"
#include "modules/topview.h"

/* Where nothing but the call counts, the table is for numbers that the array has no room for. */
#define ODD_NUMBERS 1024

static struct call_wishes *wishes;
static struct call_settings settings;
static struct call_counts before; /* what has been reported of the array */
static uint64_t n_untimed;
static struct calltable *whole; /* of all reports, for the live view */
static struct map_pair count_tables = { .slot = "call_tables", .first = "call_table" };
static struct map_pair time_tables = { .slot = "call_time_tables", .first = "call_time_table" };

/* ---- before load ---- */

static bool uses_array(void)
{
	return !settings.timed && !settings.by_process && !settings.by_error;
}

static void fill_settings(void)
{
	const struct hist_unit *unit = call_layout_unit(&wishes->layout);

	settings = wishes->filter;
	settings.mult = unit->mult;
	settings.shift = unit->shift;
	settings.by_process = wishes->layout.by_process;
	settings.by_call = wishes->layout.by_call;
	settings.by_error = wishes->layout.by_error;
	settings.timed = wishes->layout.timed;
	settings.tracked = settings.timed || wishes->in_flight;
	settings.is_plain = uses_array() && !settings.tracked && !settings.ppid &&
			    !settings.error && !settings.only_failed && !settings.only_numbers;
	settings.with_stacks = wishes->in_flight && msg_verbose;
}

static void configure_tables(const struct run *run)
{
	struct map_pair *used = settings.timed ? &time_tables : &count_tables;
	struct map_pair *other = settings.timed ? &count_tables : &time_tables;

	settings.has_turns = run->interval_ns != 0;
	map_pair_leave_out(run, other);
	map_pair_configure(run, used, uses_array() ? ODD_NUMBERS : wishes->entries,
			   settings.has_turns);
	if (!uses_array())
		map_leave_out(run, "call_counts");
	if (!settings.by_process)
		map_leave_out(run, "call_labels");
	loss_set_hint(uses_array() ? NULL : "entries");
}

/* State is made for tasks that make calls, not for all that are born. */
static int configure_tracking(const struct run *run)
{
	program_leave_out(run, "task_state_fork");
	if (settings.tracked)
		return taskstate_configure(run);
	map_leave_out(run, "task_states");
	map_leave_out(run, "task_states_by_tid");
	program_leave_out(run, "task_state_exit");
	program_leave_out(run, "task_state_iter");
	program_leave_out(run, "syscount_enter");
	return 0;
}

int calls_configure(struct run *run, struct call_wishes *asked)
{
	int err;

	wishes = asked;
	fill_settings();
	configure_tables(run);
	taskiter_configure(run, "syscount_in_flight");
	if (settings.with_stacks)
		kernelnames_configure(run);
	else
		kernelnames_leave_out(run);
	err = configure_tracking(run);
	return err ? err : map_set_settings(run, ".rodata.calls", &settings, sizeof(settings));
}

int calls_start(struct run *run)
{
	return settings.tracked ? taskstate_visit(run, 0, NULL, NULL) : 0;
}

/* ---- the report ---- */

/* A living process has the name that it has now; of a dead one the last is kept. */
static void comm_of(void *arg, uint32_t tgid, char *comm)
{
	const struct run *run = arg;
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%u/comm", tgid);
	text = readfile(path, 4096, NULL);
	if (text)
		snprintf(comm, TASK_COMM_LEN + 1, "%.*s", (int)strcspn(text, "\n"), text);
	else if (bpf_map_lookup_elem(bpf_map__fd(map_find(run, "call_labels")), &tgid, comm))
		snprintf(comm, TASK_COMM_LEN + 1, "[unknown]");
	free(text);
}

static int read_array(const struct run *run, struct call_counts *now)
{
	int n_cpus = libbpf_num_possible_cpus();
	struct call_counts *per_cpu = mem_zalloc((size_t)n_cpus, sizeof(*per_cpu));
	uint32_t zero = 0;
	int err = bpf_map_lookup_elem(bpf_map__fd(map_find(run, "call_counts")), &zero, per_cpu);

	for (int cpu = 0; !err && cpu < n_cpus; cpu++)
		for (size_t i = 0; i < ARRAY_SIZE(now->calls); i++)
			now->calls[i] += per_cpu[cpu].calls[i];
	free(per_cpu);
	return err ? msg_errno(err, "reading the counts") : 0;
}

static int collect_array(const struct run *run, struct calltable *table)
{
	struct call_counts now = {};
	int err = read_array(run, &now);

	for (size_t i = 0; !err && i < ARRAY_SIZE(now.calls); i++) {
		struct call_key key = { .number = (__s32)(i % CALLS_PER_ABI),
					.abi = (__u16)(i / CALLS_PER_ABI) };

		if (now.calls[i] != before.calls[i])
			calltable_add(table, &key, now.calls[i] - before.calls[i]);
	}
	if (!err && !run->is_peek)
		before = now;
	return err;
}

static void collect_count(const void *key, const void *value, void *arg)
{
	calltable_add(arg, key, *(const uint64_t *)value);
}

static void collect_times(const void *key, const void *value, void *arg)
{
	calltable_add_times(arg, key, value);
}

static int collect(const struct run *run, struct calltable *table)
{
	int err = uses_array() ? collect_array(run, table) : 0;

	if (err)
		return err;
	if (settings.timed)
		return map_pair_read(run, &time_tables, collect_times, table);
	return map_pair_read(run, &count_tables, collect_count, table);
}

static void print_time_of_day(FILE *f)
{
	time_t now = time(NULL);
	char text[16];

	strftime(text, sizeof(text), "%H:%M:%S", localtime(&now));
	fprintf(f, "[%s]\n", text);
}

/* As many rows as have room. */
static void print_rows(FILE *f, struct calltable *table, uint32_t rows)
{
	uint32_t top = wishes->layout.top;

	wishes->layout.top = rows;
	calltable_print(table, f);
	wishes->layout.top = top;
}

/* Draws the calls since the report before; the last report is of all. Takes the table's calls. */
static void view_table(struct run *run, struct calltable *table)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	topview_print_head(f, run, calltable_total(table));
	print_rows(f, table, TOPVIEW_ROWS);
	fclose(f);
	if (!whole)
		whole = calltable_new(&wishes->layout);
	calltable_take(whole, table);
	if (!topview_is_over()) {
		topview_show(text);
		return;
	}
	free(text);
	print_rows(run->out, whole, topview_last_rows());
}

static void print_table(struct run *run, struct calltable *table)
{
	if (run->is_json) {
		facts_print(run);
		calltable_print_json(table, run->out);
		return;
	}
	print_time_of_day(run->out);
	calltable_print(table, run->out);
}

static int report_counts(struct run *run)
{
	struct calltable *table;
	int err;

	wishes->layout.comm_of = comm_of;
	wishes->layout.arg = run;
	table = calltable_new(&wishes->layout);
	err = collect(run, table);
	if (!run->is_peek) {
		run->recorded += calltable_total(table);
		n_untimed += calltable_untimed(table);
	}
	if (!err && !topview_is_on())
		print_table(run, table);
	else if (!err && !run->is_peek)
		view_table(run, table);
	calltable_free(table);
	return err;
}

static void collect_flight(const void *record, void *arg)
{
	flights_add(arg, record);
}

static void tell_flights(const struct run *run, const struct flights *flights)
{
	size_t n = flights_count(flights);

	if (run->is_last && n && !wishes->in_flight)
		msg_info("%zu calls had not returned (--in-flight lists them)", n);
	if (run->is_last && n_untimed)
		msg_info("%llu calls without a time: begun before the tracing, or never to return",
			 (unsigned long long)n_untimed);
}

/* NULL: the calls have no stacks, or none with names. */
static struct kernelnames *new_names(const struct run *run)
{
	struct kernelnames *names = settings.with_stacks ? kernelnames_new(run) : NULL;

	if (settings.with_stacks && !names)
		msg_warn("no stacks: asking the kernel for their names: %s", strerror(errno));
	return names;
}

static void print_flights(const struct run *run, struct flights *flights, struct kernelnames *names)
{
	const struct call_layout *layout = &wishes->layout;

	if (run->is_json)
		flights_print_json(flights, run->out, run->start_ns, run->end_ns, layout->top,
				   names);
	else
		flights_print(flights, run->out, run->start_ns, run->end_ns, layout->top,
			      layout->in_ms, names);
}

static int report_flights(struct run *run)
{
	struct flights *flights = flights_new();
	struct kernelnames *names = new_names(run);
	int err = taskiter_visit(run, "syscount_in_flight", sizeof(struct call_flight),
				 collect_flight, flights);

	if (!err && wishes->in_flight)
		print_flights(run, flights, names);
	if (!err)
		tell_flights(run, flights);
	kernelnames_free(names);
	flights_free(flights);
	return err;
}

int calls_report(struct run *run)
{
	int err = report_counts(run);

	if (!err && (wishes->in_flight || run->is_last))
		err = report_flights(run);
	if (!run->is_json && !topview_is_on())
		fputc('\n', run->out);
	return err;
}

static void finish_calls(struct run *run)
{
	(void)run;
	if (whole)
		calltable_free(whole);
}

const struct module calls_module = { .finish = finish_calls };
