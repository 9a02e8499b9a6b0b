// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls in the loader; see calls.h. The array of calls by number is never reset: a report
 * shows the difference from the previous one. Tables by key alternate.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/text_stream.h"
#include "modules/kernelnames.h"
#include "modules/numbers.h"
#include "modules/taskstate.h"
#include "modules/topview.h"
#include "process/procstate.h"
#include "run/bpfmap.h"
#include "run/loss.h"
#include "syscount/calltable.h"
#include "syscount/calls.h"
#include "syscount/in_flight.h"
#include "process/syscalls.h"

/* Capacity of the table if only the call is counted: for numbers beyond the array. */
#define ODD_NUMBERS 1024

/* Capacity of call_labels in bpf/syscount.bpf.c. Processes are at most as many as entries. */
#define LABELS_MIN 16384

#define ENDS_PROGRAM "syscount_exit_tracked"

struct calls {
	struct call_request request;
	struct call_settings settings;
	struct call_counts *before; /* array's counts at the last report; NULL: none yet */
	uint64_t n_untimed, n_unseen;
	struct calltable *whole; /* calls of all reports, for the live view; NULL: none yet */
	struct map_pair counts, times;
	struct bpf_link *ends; /* link of ENDS_PROGRAM; NULL: not attached */
};

static const struct calls defaults = {
	.counts = { .slot = "call_tables", .first = "call_table" },
	.times = { .slot = "call_time_tables", .first = "call_time_table" },
};

DEFINE_STATE(struct calls, calls_of, calls_module)

/* ---- call cells ---- */

/* Cells (struct call_cell) for most calls with a duration: two halves, swapped at reports. */

static void call_cells_configure(const struct run *run, struct call_settings *settings,
				 uint32_t entries)
{
	uint32_t halves = settings->has_turns ? 2 : 1;

	settings->cell_bits = 1;
	while (settings->cell_bits < CALL_MAX_CELL_BITS && 2U << settings->cell_bits < entries)
		settings->cell_bits++;
	bpf_map__set_max_entries(map_find(run, "call_cells"), halves << settings->cell_bits);
}

/*
 * Starts the next generation of cells, except in the last report or a peek. Returns the generation
 * to read; the caller waits until no program still uses it.
 */
static uint64_t call_cells_end_turn(const struct run *run)
{
	int fd = bpf_map__fd(map_find(run, ".data.turn"));
	uint64_t turn = CALL_FIRST_TURN, next;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, &turn))
		msg_errno(-errno, "counts of calls: read failed");
	next = turn + 1;
	if (!run->is_last && !run->is_peek && bpf_map_update_elem(fd, &zero, &next, BPF_ANY))
		msg_errno(-errno, "counts of calls: buffer swap failed");
	return turn;
}

/* ---- before load ---- */

static bool uses_array(const struct calls *calls)
{
	return !calls->settings.timed && !calls->settings.by_process && !calls->settings.by_error;
}

static bool names_call(const struct call_settings *filter)
{
	return filter->numbers[CALL_NATIVE] != SYSCALL_NONE ||
	       filter->numbers[CALL_COMPAT] != SYSCALL_NONE;
}

/* Returns true if each call is traced from its entry to its return, by task state. */
static bool are_tracked(const struct call_request *request)
{
	return request->layout.timed || request->in_flight;
}

bool calls_are_tracked(const struct run *run)
{
	const struct calls_spec *spec = run_spec(run, &calls_module);
	struct call_request request = spec->request(run);

	return are_tracked(&request);
}

static void fill_settings(struct calls *calls)
{
	const struct call_layout *layout = &calls->request.layout;
	const struct hist_unit *unit = call_layout_unit(layout);
	struct call_settings *settings = &calls->settings;

	*settings = calls->request.filter;
	settings->mult = unit->mult;
	settings->shift = unit->shift;
	settings->by_process = layout->by_process;
	settings->by_call = layout->by_call;
	settings->by_error = layout->by_error;
	settings->timed = layout->timed;
	settings->tracked = are_tracked(&calls->request);
	settings->only_numbers = names_call(settings);
	settings->is_plain = uses_array(calls) && !settings->tracked && !settings->ppid &&
			     !settings->error && !settings->only_failed && !settings->only_numbers;
	settings->with_stacks = calls->request.in_flight && msg_verbose;
}

static void configure_tables(struct run *run, struct calls *calls)
{
	struct call_settings *settings = &calls->settings;
	bool by_number = uses_array(calls);

	settings->has_turns = run_has_turns(run);
	map_pair_leave_out(run, settings->timed ? &calls->counts : &calls->times);
	map_pair_configure(run, settings->timed ? &calls->times : &calls->counts,
			   by_number ? ODD_NUMBERS : calls->request.entries, settings->has_turns);
	if (settings->timed)
		call_cells_configure(run, settings, calls->request.entries);
	else
		map_leave_out(run, "call_cells");
	if (!by_number)
		map_leave_out(run, "call_counts");
	if (!settings->by_process)
		map_leave_out(run, "call_labels");
	else if (calls->request.entries > LABELS_MIN)
		bpf_map__set_max_entries(map_find(run, "call_labels"), calls->request.entries);
	loss_name_option(run, by_number ? NULL : "entries");
}

static struct bpf_program *find_ends(const struct run *run)
{
	return bpf_object__find_program_by_name(run->object, ENDS_PROGRAM);
}

static void choose_programs(const struct run *run, bool tracked)
{
	program_leave_out(run, "task_state_new"); /* a task's first call creates its state */
	program_leave_out(run, tracked ? "syscount_exit" : ENDS_PROGRAM);
	if (!tracked)
		program_leave_out(run, "syscount_enter");
	bpf_program__set_autoattach(find_ends(run), false);
}

static int configure_calls(struct run *run)
{
	const struct calls_spec *spec = run_spec(run, &calls_module);
	struct calls *calls = calls_of(run);

	calls->request = spec->request(run);
	if (run->is_metrics && calls->request.layout.timed) {
		calls->request.layout.histograms = true;
		calls->request.layout.in_ms = false;
	}
	fill_settings(calls);
	configure_tables(run, calls);
	taskiter_configure(run, "syscount_in_flight");
	if (calls->settings.with_stacks)
		kernelnames_configure(run);
	else
		kernelnames_leave_out(run);
	choose_programs(run, calls->settings.tracked);
	return map_set_settings(run, ".rodata.calls", &calls->settings, sizeof(calls->settings));
}

/* Visits calls in flight, then attaches returns: no return is seen without its (traced) entry. */
static int attach_calls(struct run *run)
{
	struct calls *calls = calls_of(run);
	int err = calls->settings.tracked ? taskstate_visit(run, 0, NULL, NULL) : 0;

	if (err || !calls->settings.tracked)
		return err;
	calls->ends = bpf_program__attach_trace(find_ends(run));
	return calls->ends ? 0 : msg_errno(-errno, "%s: attach failed", ENDS_PROGRAM);
}

/* Detaches returns before entries: no return is seen without its entry. */
static void stop_calls(struct run *run)
{
	struct calls *calls = calls_of(run);

	bpf_link__destroy(calls->ends);
	calls->ends = NULL;
}

/* ---- the report ---- */

/*
 * Copies a process's current name or, if it has exited, its last recorded one. The record is read
 * last: another process may get the pid at any time.
 */
static void comm_of(void *arg, uint32_t tgid, char *comm)
{
	const struct run *run = arg;
	struct call_label label = { .comm = "[unknown]" };
	int err = process_comm((pid_t)tgid, comm, TASK_COMM_LEN + 1);

	bpf_map_lookup_elem(bpf_map__fd(map_find(run, "call_labels")), &tgid, &label);
	if (err || label.has_ended)
		snprintf(comm, TASK_COMM_LEN + 1, "%.*s", TASK_COMM_LEN, label.comm);
}

static bool has_ended(void *arg, uint32_t tgid)
{
	(void)arg;
	return process_has_ended((pid_t)tgid);
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
	return err ? msg_errno(err, "counts of calls: read failed") : 0;
}

static int collect_array(const struct run *run, struct calls *calls, struct calltable *table)
{
	struct call_counts now = {};
	int err = read_array(run, &now);

	if (!calls->before)
		calls->before = mem_zalloc(1, sizeof(*calls->before));
	for (size_t i = 0; !err && i < ARRAY_SIZE(now.calls); i++) {
		struct call_key key = { .number = (__s32)(i % CALLS_PER_ABI),
					.abi = (__u16)(i / CALLS_PER_ABI) };
		uint64_t n = now.calls[i] - calls->before->calls[i];

		if (n)
			calltable_add(table, &key, n);
	}
	if (!err && !run->is_peek)
		*calls->before = now;
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

/* Adds the cells of a generation; each CPU may have a cell for a key. */
static int collect_cells(const struct run *run, uint64_t turn, struct calltable *table)
{
	uint32_t n = bpf_map__max_entries(map_find(run, "call_cells"));
	int n_cpus = libbpf_num_possible_cpus(), err = 0;
	struct call_cell *each = mem_zalloc((size_t)n_cpus, sizeof(*each));
	int fd = bpf_map__fd(map_find(run, "call_cells"));

	for (uint32_t i = 0; i < n && !err; i++) {
		err = bpf_map_lookup_elem(fd, &i, each);
		for (int cpu = 0; cpu < n_cpus && !err; cpu++)
			if (each[cpu].turn == turn)
				calltable_add_times(table, &each[cpu].key, &each[cpu].times);
	}
	free(each);
	return err ? msg_errno(-errno, "counts of calls: read failed") : 0;
}

/*
 * Collects calls with durations. Swapping the tables waits for running programs, so none of them
 * still writes cells of this generation.
 */
static int collect_timed(const struct run *run, struct calls *calls, struct calltable *table)
{
	uint64_t turn = call_cells_end_turn(run);
	int err = map_pair_read(run, &calls->times, collect_times, table);

	return err ? err : collect_cells(run, turn, table);
}

static int collect(const struct run *run, struct calls *calls, struct calltable *table)
{
	int err = uses_array(calls) ? collect_array(run, calls, table) : 0;

	if (err)
		return err;
	if (calls->settings.timed)
		return collect_timed(run, calls, table);
	return map_pair_read(run, &calls->counts, collect_count, table);
}

/* Draws calls since the last report, finally of all reports. Moves the table's calls to `whole`. */
static void view_table(struct run *run, struct calls *calls, struct calltable *table)
{
	struct table_output to = { .f = run->out, .format = &text_table };
	struct call_room limits = { .rows = calls->request.top };
	struct text_stream s;
	char *text;

	if (!calls->whole)
		calls->whole = calltable_new(&calls->request.layout);
	if (topview_is_over(run)) {
		calltable_take(calls->whole, table);
		if (limits.rows == UINT32_MAX)
			limits.rows = topview_last_rows();
		calltable_write(calls->whole, &to, limits);
		return;
	}
	text_stream_open(&s);
	to.f = s.f;
	topview_print_head(to.f, run, calltable_total(table), "");
	if (limits.rows > TOPVIEW_ROWS)
		limits.rows = TOPVIEW_ROWS;
	limits.columns = topview_columns();
	calltable_write(table, &to, limits);
	text = text_stream_close(&s);
	calltable_take(calls->whole, table);
	topview_show(run, text, NULL);
}

static void write_table(struct run *run, const struct call_request *request,
			struct calltable *table)
{
	struct table_output *to = numbers_begin(run);
	char text[CLOCK_TIME_OF_DAY_SIZE];

	if (to->format == &text_table)
		fprintf(run->out, "[%s]\n", clock_time_of_day(text));
	calltable_write(table, to, (struct call_room){ .rows = request->top });
	numbers_end(run);
}

static int report_counts(struct run *run, struct calls *calls)
{
	struct calltable *table;
	int err;

	calls->request.layout.comm_of = comm_of;
	calls->request.layout.has_ended = has_ended;
	calls->request.layout.arg = run;
	table = calltable_new(&calls->request.layout);
	err = collect(run, calls, table);
	if (!run->is_peek) {
		run->recorded += calltable_total(table);
		calls->n_untimed += calltable_of_octave(table, CALL_UNTIMED);
		calls->n_unseen += calltable_of_octave(table, CALL_UNSEEN);
	}
	if (!err && !run->view)
		write_table(run, &calls->request, table);
	else if (!err && !run->is_peek)
		view_table(run, calls, table);
	calltable_free(table);
	return err;
}

static void collect_flight(const void *record, void *arg)
{
	in_flight_add(arg, record);
}

static void print_untimed(uint64_t n, const char *why)
{
	if (n)
		msg_info("%llu %s without a time: %s", (unsigned long long)n,
			 n == 1 ? "call" : "calls", why);
}

static void print_left(const struct run *run, const struct calls *calls,
		       const struct in_flight *flights)
{
	size_t n = flights->count;

	if (run->is_last && n && !calls->request.in_flight)
		msg_info("calls still in flight: %zu (list them with --in-flight)", n);
	if (!run->is_last)
		return;
	print_untimed(calls->n_untimed, "they began before tracing, or never return");
	print_untimed(calls->n_unseen, "their entry was not seen (seccomp may have refused them)");
}

/* Returns NULL if calls have no stacks, or if there are no kernel symbols. */
static struct kernelnames *new_names(const struct run *run, const struct calls *calls)
{
	struct kernelnames *names = calls->settings.with_stacks ? kernelnames_new(run) : NULL;

	if (calls->settings.with_stacks && !names)
		msg_warn("kernel symbols: not available: %s (calls are listed without stacks)",
			 strerror(errno));
	return names;
}

static void list_flights(const struct run *run, const struct calls *calls,
			 struct in_flight *flights, struct kernelnames *names)
{
	const struct call_request *request = &calls->request;
	const struct in_flight_view view = { run->start_ns, run->end_ns, request->top,
					     request->layout.in_ms, names };
	struct table_output to = { .f = run->out, .format = run->table_format };
	size_t n = flights->count;

	in_flight_write(flights, &to, &view);
	if (run->table_format == &json_table && n > request->top)
		msg_info("only the %u oldest of %zu calls in flight are listed (-T lists more)",
			 request->top, n);
}

static int report_flights(struct run *run, const struct calls *calls)
{
	struct in_flight flights = {};
	struct kernelnames *names = new_names(run, calls);
	int err = taskiter_visit(run, "syscount_in_flight", sizeof(struct call_flight),
				 collect_flight, &flights);

	if (!err && calls->request.in_flight)
		list_flights(run, calls, &flights, names);
	if (!err)
		print_left(run, calls, &flights);
	kernelnames_free(names);
	free(flights.items);
	return err;
}

int calls_report(struct run *run)
{
	struct calls *calls = calls_of(run);
	int err = report_counts(run, calls);

	if (!err && !run->is_metrics && (calls->request.in_flight || run->is_last))
		err = report_flights(run, calls);
	if (run->table_format == &text_table && !run->view)
		fputc('\n', run->out);
	return err;
}

static void finish_calls(struct run *run)
{
	struct calls *calls = calls_of(run);

	if (calls->whole)
		calltable_free(calls->whole);
	free(calls->before);
}

const struct module calls_module = {
	.state = DEFAULTS(defaults),
	.configure = configure_calls,
	.attach = attach_calls,
	.stop = stop_calls,
	.finish = finish_calls,
};
