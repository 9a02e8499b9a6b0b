// SPDX-License-Identifier: GPL-2.0-only
/* Tables of system calls: sums, order, columns; and the list of calls in flight. */
#include <sys/syscall.h>

#include "syscount/calltable.h"
#include "syscount/in_flight.h"
#include "unit.h"

static char text[65536];

static void name_process(void *arg, uint32_t tgid, char *comm)
{
	(void)arg;
	snprintf(comm, TASK_COMM_LEN + 1, tgid == 13 ? "a\x1b[2J" : "proc-%u", tgid);
}

static struct call_layout layout;
static struct calltable *table;

static void begin(bool by_process, bool by_call)
{
	layout = (struct call_layout){ .by_process = by_process,
				       .by_call = by_call,
				       .comm_of = name_process };
	table = calltable_new(&layout);
}

AFTER_EACH()
{
	if (table)
		calltable_free(table);
	table = NULL;
}

static const char *write_as(const struct table_format *format, struct call_room room)
{
	struct table_output to = { .f = fmemopen(text, sizeof(text), "w"), .format = format };

	calltable_write(table, &to, room);
	fclose(to.f);
	return text;
}

static const char *print_in_room(uint32_t rows, unsigned int columns)
{
	return write_as(&text_table, (struct call_room){ rows, columns });
}

static const char *print(void)
{
	return print_in_room(10, 0);
}

static void add_to(struct calltable *to, uint32_t tgid, int32_t number, uint16_t error,
		   uint64_t calls)
{
	struct call_key key = { .tgid = tgid, .number = number, .error = error };

	calltable_add(to, &key, calls);
}

static void add(uint32_t tgid, int32_t number, uint16_t error, uint64_t calls)
{
	add_to(table, tgid, number, error, calls);
}

/* Adds calls of one duration. */
static void add_times(struct calltable *to, int32_t number, uint64_t calls, uint64_t ns)
{
	uint64_t fixed = hist_fixed(call_layout_unit(&layout), ns);
	uint32_t octave = hist_octave_of(fixed);
	struct call_key key = { .number = number, .octave = octave };
	struct call_times times = { .total_ns = calls * ns, .min_ns = ns, .max_ns = ns };

	times.slots[hist_slot_of(fixed, octave)] = calls;
	calltable_add_times(to, &key, &times);
}

static void add_untimed(struct calltable *to, int32_t number, uint64_t calls)
{
	struct call_key key = { .number = number, .octave = CALL_UNTIMED };
	struct call_times times = { .slots = { calls }, .min_ns = UINT64_MAX };

	calltable_add_times(to, &key, &times);
}

TEST(rows_are_laid_out_as_bccs)
{
	begin(false, true);
	add(0, SYS_read, 0, 5);
	add(0, SYS_write, 0, 1009);
	add(0, 600, 0, 7);
	CHECK_EQ(calltable_total(table), 1021);
	CHECK_STR(print(), "SYSCALL                   COUNT\n"
			   "write                      1009\n"
			   "[600]                         7\n"
			   "read                          5\n");
}

TEST(processes_are_laid_out_as_bccs)
{
	begin(true, false);
	add(13820, 0, 0, 548);
	add(13, 0, 0, 3);
	CHECK_STR(print(), "PID    COMM               COUNT\n"
			   "13820  proc-13820           548\n"
			   "13     a\\x1b[2J               3\n");
}

/* Processes of other pid namespaces are one row. */
TEST(processes_without_a_pid_have_the_same_name_in_json)
{
	begin(true, false);
	add(0, 0, 0, 548);
	CHECK_STR(write_as(&json_table, (struct call_room){ .rows = 1 }),
		  "{\"type\":\"calls\",\"pid\":0,\"comm\":\"[others]\",\"count\":548}\n");
	CHECK_STR(print(), "PID    COMM               COUNT\n"
			   "0      [others]             548\n");
}

TEST(processes_and_calls_stand_side_by_side)
{
	begin(true, true);
	add(1, SYS_read, 0, 3);
	add(2, SYS_read, 0, 4);
	CHECK_STR(print(), "PID    COMM            SYSCALL                   COUNT\n"
			   "2      proc-2          read                          4\n"
			   "1      proc-1          read                          3\n");
}

TEST(equal_keys_are_summed_and_the_top_is_shown)
{
	begin(false, true);
	add(0, SYS_read, 0, 3);
	add(0, SYS_write, 0, 5);
	add(0, SYS_read, 0, 4);
	CHECK_STR(print_in_room(1, 0), "SYSCALL                   COUNT\n"
				       "read                          7\n");
}

/* A number that is shown is whole. */
TEST(columns_that_do_not_fit_are_left_out)
{
	static const struct {
		unsigned int columns;
		const char *titles;
	} cases[] = {
		{ 96, " COUNT     TIME (us)    AVG    P50    P99    MAX\n" },
		{ 95, " COUNT     TIME (us)    AVG    P50    P99\n" },
		{ 80, " COUNT     TIME (us)    AVG\n" },
		{ 74, " COUNT     TIME (us)\n" },
		{ 67, " COUNT\n" },
		{ 53, "SYSCALL\n" },
	};

	begin(true, true);
	layout.timed = true;
	add_times(table, SYS_read, 3, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK(strstr(print_in_room(10, cases[i].columns), cases[i].titles));
		CHECK(strcspn(text, "\n") <= cases[i].columns);
	}
}

TEST(an_empty_table_is_its_header)
{
	begin(false, true);
	layout.by_error = true;
	CHECK_STR(print(), "SYSCALL                   COUNT\n");
}

TEST(errors_follow_and_interrupted_calls_are_apart)
{
	begin(false, true);
	layout.by_error = true;
	add(0, SYS_read, 11, 3);
	add(0, SYS_close, 9, 1);
	add(0, SYS_read, 4, 2);
	add(0, SYS_read, 512, 9);
	CHECK_STR(print(), "SYSCALL                   COUNT\n"
			   "read                          5\n"
			   "close                         1\n"
			   "\n"
			   "SYSCALL                ERROR                     COUNT\n"
			   "read                   EAGAIN                        3\n"
			   "read                   EINTR                         2\n"
			   "close                  EBADF                         1\n"
			   "\n"
			   "SYSCALL                INTERRUPTED               COUNT\n"
			   "read                   ERESTARTSYS                   9\n");
}

TEST(durations_have_totals_and_percentiles)
{
	begin(false, true);
	layout.timed = true;
	add_times(table, SYS_read, 98, 200);
	add_times(table, SYS_read, 2, 5000000);
	add_times(table, SYS_write, 200, 1000);
	add_untimed(table, SYS_exit_group, 3);
	add_untimed(table, SYS_read, 1);
	CHECK_EQ(calltable_total(table), 304);
	CHECK_EQ(calltable_of_octave(table, CALL_UNTIMED), 4);
	CHECK_STR(
		print(),
		"SYSCALL                   COUNT     TIME (us)    MIN    AVG    P50    P99    MAX\n"
		"read                        101     10019.600  200ns  100us  202ns 5.00ms 5.00ms\n"
		"write                       200       200.000 1.00us 1.00us 1.00us 1.00us 1.00us\n"
		"exit_group                    3         0.000      -      -      -      -      "
		"-\n");
}

/* The sum of durations is exact, where a histogram has it in 64ths of a microsecond. */
TEST(histograms_follow_in_their_unit)
{
	begin(false, true);
	layout.timed = layout.histograms = layout.in_ms = true;
	add_times(table, SYS_read, 3, 1000000);
	add_times(table, SYS_read, 2, 4000000);
	CHECK_STR(
		print(),
		"SYSCALL                   COUNT     TIME (ms)    MIN    AVG    P50    P99    MAX\n"
		"read                          5     11.000000 1.00ms 2.20ms 1.02ms 4.00ms 4.00ms\n"
		"\n"
		"syscall = read\n"
		"     msecs               : count    distribution\n"
		"         0 -> 1          : 3        |****************************************|\n"
		"         2 -> 3          : 0        |                                        |\n"
		"         4 -> 7          : 2        |**************************              |\n"
		"count 5  avg 2.20  p50 1.02  p90 4.00  p99 4.00  p99.9 4.00  max 4.00\n");
}

TEST(in_json_durations_are_members_and_buckets_follow)
{
	begin(false, true);
	layout.timed = layout.histograms = true;
	add_times(table, SYS_read, 3, 1000);
	add_untimed(table, SYS_exit_group, 3);
	CHECK_STR(write_as(&json_table, (struct call_room){ .rows = 10 }),
		  "{\"type\":\"calls\",\"syscall\":\"read\",\"count\":3,\"total_ns\":3000,"
		  "\"min_ns\":1000,\"average_ns\":1000,\"p50_ns\":1000,\"p99_ns\":1000,"
		  "\"max_ns\":1000,\"histogram\":{\"unit\":\"usecs\",\"count\":3,\"average\":1,"
		  "\"p50\":1,\"p90\":1,\"p99\":1,\"p99_9\":1,\"max\":1,\"buckets\":["
		  "{\"from\":1,\"below\":1.03125,\"count\":3}]}}\n"
		  "{\"type\":\"calls\",\"syscall\":\"exit_group\",\"count\":3,\"total_ns\":0}\n");
}

/* One header for all tables of a file. */
TEST(in_csv_calls_and_errors_have_the_same_columns)
{
	begin(true, true);
	layout.by_error = true;
	add(13, SYS_read, 4, 2);
	add(12, SYS_read, 512, 9);
	CHECK_STR(write_as(&csv_table, (struct call_room){ .rows = 10 }),
		  "type,pid,comm,syscall,error,count\n"
		  "calls,13,a\\x1b[2J,read,,2\n"
		  "failures,13,a\\x1b[2J,read,EINTR,2\n"
		  "restarts,12,proc-12,read,ERESTARTSYS,9\n");
}

TEST(metrics_by_error_have_no_calls_without)
{
	struct table_output to = { .format = &metrics_table, .metrics = metrics_new() };

	char *all;

	begin(false, true);
	layout.by_error = layout.timed = layout.histograms = true;
	add_times(table, SYS_read, 3, 1000);
	calltable_write(table, &to, (struct call_room){ .rows = 10 });
	all = PRINTED(f, metrics_write(f, to.metrics, 0));
	CHECK_HAS(all,
		  "# TYPE tracelets_syscount_failures_total counter\n"
		  "tracelets_syscount_failures_total{call=\"read\",error=\"[0]\"} 3\n"
		  "# HELP tracelets_syscount_seconds Time that system calls took.\n",
		  "tracelets_syscount_seconds_count{call=\"read\",error=\"[0]\"} 3\n");
	metrics_free(to.metrics);
}

TEST(interrupted_calls_are_not_among_metrics_of_failures)
{
	struct table_output to = { .format = &metrics_table, .metrics = metrics_new() };

	begin(false, true);
	layout.by_error = true;
	add(0, SYS_read, 4, 2);
	add(0, SYS_read, 512, 9);
	calltable_write(table, &to, (struct call_room){ .rows = 10 });
	CHECK_STR(PRINTED(f, metrics_write(f, to.metrics, 0)),
		  "# HELP tracelets_syscount_failures_total System calls that failed, by error.\n"
		  "# TYPE tracelets_syscount_failures_total counter\n"
		  "tracelets_syscount_failures_total{call=\"read\",error=\"EINTR\"} 2\n"
		  "# HELP tracelets_syscount_restarts_total System calls that were interrupted "
		  "and may be restarted, by error.\n"
		  "# TYPE tracelets_syscount_restarts_total counter\n"
		  "tracelets_syscount_restarts_total{call=\"read\",error=\"ERESTARTSYS\"} 9\n");
	metrics_free(to.metrics);
}

static void add_flight(struct in_flight *flights, uint32_t tid, uint64_t began_ns,
		       uint64_t off_cpu_ns)
{
	struct call_flight flight = { .tgid = 10,
				      .tid = tid,
				      .number = SYS_read,
				      .began_ns = began_ns,
				      .off_cpu_ns = off_cpu_ns,
				      .comm = "a-name-of-15-ch" };

	in_flight_add(flights, &flight);
}

static char *write_flights(struct in_flight *flights, const struct table_format *format)
{
	const struct in_flight_view view = { .start_ns = 2000000, .now_ns = 10000000, .top = 3 };

	return PRINTED(f, {
		struct table_output to = { .f = f, .format = format };

		in_flight_write(flights, &to, &view);
	});
}

TEST(the_oldest_call_in_flight_comes_first)
{
	struct in_flight flights = {};

	add_flight(&flights, 11, 4000000, 0);	    /* 6 ms */
	add_flight(&flights, 12, 0, 0);		    /* since before */
	add_flight(&flights, 13, 0, 3600000000000); /* hung for long */
	add_flight(&flights, 14, 9000000, 0);
	CHECK_EQ(flights.count, 4);
	CHECK_STR(write_flights(&flights, &text_table),
		  "\n"
		  "PID     TID     COMM            IN FLIGHT                      AGE (us)\n"
		  "10      13      a-name-of-15-ch read                    ~3600000000.000\n"
		  "10      12      a-name-of-15-ch read                          >8000.000\n"
		  "10      11      a-name-of-15-ch read                           6000.000\n"
		  "3 of 4 calls in flight, the oldest (-T shows more)\n");
	CHECK_STR(write_flights(&flights, &json_table),
		  "{\"type\":\"in_flight\",\"pid\":10,\"tid\":13,\"comm\":\"a-name-of-15-ch\","
		  "\"syscall\":\"read\",\"age_ns\":3600000000000,\"age_is\":\"about\"}\n"
		  "{\"type\":\"in_flight\",\"pid\":10,\"tid\":12,\"comm\":\"a-name-of-15-ch\","
		  "\"syscall\":\"read\",\"age_ns\":8000000,\"age_is\":\"at least\"}\n"
		  "{\"type\":\"in_flight\",\"pid\":10,\"tid\":11,\"comm\":\"a-name-of-15-ch\","
		  "\"syscall\":\"read\",\"age_ns\":6000000,\"age_is\":\"exact\"}\n");
	free(flights.items);
}

/* As a live view does: what came in several reports is the same as what came at once. */
TEST(tables_are_added_up)
{
	begin(false, true);
	layout.timed = true;
	for (int i = 0; i < 3; i++) {
		struct calltable *part = calltable_new(&layout);

		add_times(part, SYS_write, 100, 1000);
		add_times(part, SYS_read, i ? 60 : 27, i ? 140 : 200);
		add_times(part, SYS_read, 1, 5000000);
		add_untimed(part, SYS_read, 1);
		calltable_take(table, part);
		CHECK_EQ(calltable_total(part), 0);
		calltable_free(part);
	}
	CHECK_EQ(calltable_total(table), 147 + 300 + 3 + 3);
	CHECK_EQ(calltable_of_octave(table, CALL_UNTIMED), 3);
	CHECK_STR(
		print(),
		"SYSCALL                   COUNT     TIME (us)    MIN    AVG    P50    P99    MAX\n"
		"read                        153     15022.200  140ns  100us  142ns 5.00ms 5.00ms\n"
		"write                       300       300.000 1.00us 1.00us 1.00us 1.00us "
		"1.00us\n");
}

/* ---- many processes ---- */

#define N_ROUNDS  100
#define PER_ROUND 10000
#define ALIVE	  8 /* a process with few calls */

static size_t n_asked;

static bool is_not_alive(void *arg, uint32_t tgid)
{
	(void)arg;
	n_asked++;
	return tgid != ALIVE;
}

static struct seen {
	size_t n_rows;
	uint64_t calls, of_alive, of_others;
} seen;

/* The first column is the process, the fifth the number of calls. */
static void see_row(struct table_output *to, const struct table *as, const struct cell *cells)
{
	uint64_t tgid = cells[0].n, calls = cells[4].n;

	(void)to;
	(void)as;
	seen.n_rows++;
	seen.calls += calls;
	seen.of_alive += tgid == ALIVE ? calls : 0;
	seen.of_others += tgid == CALLTABLE_OTHERS ? calls : 0;
}

static const struct table_format seeing = { .name = "seen", .row = see_row };

/* Takes a table in which each of many processes has a call, as in a second of a live view. */
static void take_round(uint32_t round)
{
	struct calltable *part = calltable_new(&layout);

	for (uint32_t i = 0; i < PER_ROUND; i++)
		add_to(part, 1000 + round * PER_ROUND + i, SYS_read, 0, 1);
	if (round == 0 || round == N_ROUNDS - 1)
		add_to(part, ALIVE, SYS_read, 0, 1);
	calltable_take(table, part);
	calltable_free(part);
}

TEST(a_million_processes_take_no_more_room_than_some_thousands)
{
	begin(true, false);
	layout.has_ended = is_not_alive;
	for (uint32_t round = 0; round < N_ROUNDS; round++)
		take_round(round);
	CHECK_EQ(calltable_total(table), N_ROUNDS * PER_ROUND + 2);
	write_as(&seeing, (struct call_room){ .rows = UINT32_MAX });
	CHECK_EQ(seen.calls, N_ROUNDS * PER_ROUND + 2);
	CHECK(seen.n_rows <= CALLTABLE_MAX_ENTRIES);
	CHECK_EQ(seen.of_alive, 2);
	CHECK(seen.of_others > (N_ROUNDS - 2) * PER_ROUND);
	print_in_room(2, 0);
	CHECK(!strncmp(text, "PID    COMM               COUNT\n0      [others]  ", 49));
}

TEST(where_processes_are_merged_their_times_are)
{
	struct call_key key = { .number = SYS_read };
	struct calltable *part;

	begin(true, true);
	part = calltable_new(&layout);
	layout.timed = true;
	layout.has_ended = is_not_alive;
	for (uint32_t i = 1; i <= CALLTABLE_MAX_ENTRIES + 1; i++) {
		struct call_times times = { .slots = { 1 }, .total_ns = i * 1000, .max_ns = i };

		key.tgid = 100 + i;
		calltable_add_times(part, &key, &times);
	}
	calltable_take(table, part);
	calltable_free(part);
	CHECK_EQ(calltable_total(table), CALLTABLE_MAX_ENTRIES + 1);
	print_in_room(1, 0);
	/* 16385 * 16386 / 2 us */
	CHECK_HAS(text, "\n0      [others]        read                      16385 "
			"134242305.000 ");
}

/* Each is a file to be read, in every report. */
TEST(a_process_with_many_calls_is_looked_up_once)
{
	struct calltable *part;

	begin(true, true);
	part = calltable_new(&layout);
	layout.has_ended = is_not_alive;
	n_asked = 0;
	for (int32_t i = 0; i <= CALLTABLE_MAX_ENTRIES; i++)
		add_to(part, ALIVE + (uint32_t)i % 2, i, 0, 1);
	calltable_take(table, part);
	calltable_free(part);
	CHECK_EQ(n_asked, 2);
	CHECK_EQ(calltable_total(table), CALLTABLE_MAX_ENTRIES + 1);
}
