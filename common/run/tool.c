// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a tool: parse, open, configure, load, attach, announce, one loop over signals, the timer,
 * ring buffers and the command, then report and close. See tool.h.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/readfile.h"
#include "base/signals.h"
#include "base/thread.h"
#include "base/version.h"
#include "output/quantity.h"
#include "output/table.h"
#include "output/writer.h"
#include "run/bpf_object.h"
#include "run/capabilities.h"
#include "run/child.h"
#include "run/command_line.h"
#include "run/run.h"
#include "run/loss.h"
#include "run/output.h"
#include "run/tool.h"

/* ---- memory of a run: its BPF maps and its process ---- */

#define FILE_MAX_BYTES 4096

/* Returns the number after a word at the beginning of a line; 0: not found. */
static uint64_t find_number(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at && (at == text || at[-1] == '\n') ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static uint64_t map_bytes(const char *fd)
{
	char path[64], *text;
	uint64_t bytes = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.16s", fd);
	text = readfile(path, FILE_MAX_BYTES, NULL);
	if (text && find_number(text, "map_id:"))
		bytes = find_number(text, "memlock:");
	free(text);
	return bytes;
}

static uint64_t all_maps_bytes(void)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	uint64_t bytes = 0;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			bytes += map_bytes(entry->d_name);
	if (dir)
		closedir(dir);
	return bytes;
}

/* Returns the anonymous memory, which excludes files and BPF maps. */
static uint64_t own_bytes(void)
{
	char *text = readfile("/proc/self/smaps_rollup", FILE_MAX_BYTES, NULL);
	uint64_t kb = text ? find_number(text, "Pss_Anon:") : 0;

	free(text);
	return kb << 10;
}

/* Prints the memory with -v. when: such as "at start". */
static void footprint_print(const char *when)
{
	double maps, own;

	if (!msg_verbose)
		return;
	maps = (double)all_maps_bytes() / (1 << 20);
	own = (double)own_bytes() / (1 << 20);
	msg_debug("memory %s: BPF maps %.1f MB, loader %.1f MB, total %.1f MB", when, maps, own,
		  maps + own);
}

/* ---- a run ---- */

/* CPU time at high priority: enough for most tools, but not for looking up source lines. */
#define HURRY_LIMIT_NS NS_PER_S

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

struct life {
	struct run run;
	struct output output;
	struct child child;
	int signal_fd, peek_fd, timer_fd;
	bool reader_is_gone; /* the output is a pipe whose reader has exited */
	int err;	     /* error of the report that ended the run; 0: none */
};

static void announce(const struct run *run)
{
	if (run->duration_ns || run->interval_ns || run->command)
		msg_debug("attached");
	else
		msg_info("tracing... end with Ctrl-C");
	capabilities_announce();
	footprint_print("at start");
}

/* ---- hooks of the wanted modules, in the tool's order, up to the first failure ---- */

#define for_each_wanted(use, run) \
	for_each_module(use, run) \
		if (run_wants(run, use->module))

#define CALL_HOOKS(hook, run)                           \
	do {                                            \
		for_each_wanted(use, run)               \
			if (use->module->hook)          \
				use->module->hook(run); \
	} while (0)

static int hooks_configure(struct run *run)
{
	int (*hook)(struct run * run);
	int err = 0;

	for_each_module(use, run) {
		hook = run_wants(run, use->module) ? use->module->configure
						   : use->module->leave_out;
		err = !err && hook ? hook(run) : err;
	}
	return err;
}

static int hooks_start(struct run *run)
{
	int err = 0;

	for_each_wanted(use, run)
		err = !err && use->module->start ? use->module->start(run) : err;
	return err;
}

static int hooks_attach(struct run *run)
{
	int err = 0;

	for_each_wanted(use, run)
		err = !err && use->module->attach ? use->module->attach(run) : err;
	return err;
}

/* ---- reports ---- */

static enum output_kind choose_kind(const struct run *run)
{
	if (run->output_path && run->is_metrics)
		return OUTPUT_LATEST;
	return run_makes_series(run) ? OUTPUT_SERIES : OUTPUT_ONCE;
}

/* Returns the output's path; a series keeps its pattern. Freed by the caller. */
static char *output_path(const struct run *run)
{
	if (!run->output_path)
		return NULL;
	return choose_kind(run) == OUTPUT_SERIES ? mem_strdup(run->output_path)
						 : series_plain_path(run->output_path);
}

static int begin_output(struct life *life)
{
	life->run.n_files++;
	return output_begin(&life->output);
}

static int open_output(struct life *life)
{
	const struct run *run = &life->run;
	int err;

	life->output = (struct output){
		.path = output_path(run),
		.kind = choose_kind(run),
		.series = { .keep = run->keep, .keep_bytes = run->keep_bytes },
		.start_unix_ns = clock_wall_ns(),
	};
	err = output_check(&life->output);
	if (!err)
		err = begin_output(life);
	life->run.out = life->output.file;
	life->run.out_is_stream = life->output.is_special;
	return err;
}

/*
 * Returns the wall clock time at which the report's window began, rounded down to its interval:
 * names by time differ by exactly an interval even if a report was late.
 */
static uint64_t window_unix_ns(const struct run *run)
{
	uint64_t since_start_ns = run->report_start_ns - run->start_ns, late_ns;

	late_ns = run->interval_ns ? since_start_ns % run->interval_ns : 0;
	return clock_wall_at(run->report_start_ns) - late_ns;
}

static const char *format_name(const struct run *run)
{
	return run->writer ? run->writer->name : run->table_format->name;
}

/*
 * Ends a report: commits it, or discards it if it failed (is_whole false). Opens the next report's
 * file if output is to files.
 */
static int next_output(struct life *life, bool is_whole)
{
	int err = 0;

	if (is_whole && run_captures(&life->run))
		err = capture_commit(&life->run.capture, &life->output, format_name(&life->run));
	else if (is_whole || life->output.is_special)
		err = output_commit(&life->output);
	else
		output_discard(&life->output);
	if (!err && !life->output.file && !life->run.is_last)
		err = begin_output(life);
	life->run.out = life->output.file;
	return err;
}

static int report(struct life *life, bool is_peek)
{
	struct run *run = &life->run;
	int err, write_err;

	if (!run->out)
		return -EIO; /* opening failed, already printed */
	run->is_peek = is_peek;
	run->end_ns = clock_now_ns();
	life->output.is_peek = is_peek;
	life->output.goes_on = run->prints_lines;
	life->output.start_unix_ns = window_unix_ns(run);
	err = run->tool->report(run);
	run->is_peek = false;
	if (!is_peek) {
		run->report_start_ns = run->end_ns;
		run->losses.reported_before = run->losses.reported;
	}
	write_err = next_output(life, !err);
	err = write_err ? write_err : err;
	if (err && err != -EPIPE)
		life->err = err;
	return err;
}

/* ---- the loop ---- */

static enum loop_verdict on_peek(int fd, void *arg)
{
	struct signalfd_siginfo info;
	struct life *life = arg;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return LOOP_GO;
	if (run_captures(&life->run)) {
		capture_request(&life->run.capture, "SIGUSR1");
		return LOOP_GO;
	}
	return report(life, !life->run.is_metrics) ? LOOP_STOP : LOOP_GO;
}

static enum loop_verdict on_signal(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	signals_take();
	return LOOP_STOP;
}

static enum loop_verdict on_command_end(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	return LOOP_STOP;
}

/* Sets the timer to the next interval or to the end of the run, if that is earlier. */
static void arm_timer(const struct life *life, uint64_t now_ns)
{
	const struct run *run = &life->run;
	uint64_t next_ns = run->duration_ns ? run->start_ns + run->duration_ns : 0, tick_ns;
	struct itimerspec spec = {};

	if (run->interval_ns) {
		tick_ns = now_ns + run->interval_ns - (now_ns - run->start_ns) % run->interval_ns;
		next_ns = !next_ns || tick_ns < next_ns ? tick_ns : next_ns;
	}
	spec.it_value = clock_timer_time(next_ns);
	timerfd_settime(life->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static bool is_over(const struct run *run, uint64_t now_ns)
{
	return (run->duration_ns && now_ns >= run->start_ns + run->duration_ns) ||
	       (run->count && run->n_reports + 1 >= run->count);
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	struct life *life = arg;
	uint64_t expirations;

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	if (signals_are_pending()) /* the last report is enough */
		return on_signal(fd, arg);
	if (is_over(&life->run, clock_now_ns()) || report(life, false))
		return LOOP_STOP;
	if (capture_is_over(&life->run.capture))
		return LOOP_STOP;
	life->run.n_reports++;
	arm_timer(life, clock_now_ns());
	return LOOP_GO;
}

/* Opens a signalfd for SIGUSR1, which requests a report of the data so far. */
static int open_peeks(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Ends the run when the output's reader has exited. */
static enum loop_verdict on_hangup(int fd, void *arg)
{
	struct life *life = arg;

	(void)fd;
	life->reader_is_gone = true;
	return LOOP_STOP;
}

static int watch_at_once(struct loop *loop, int fd, loop_fn *ready, void *arg)
{
	int err = loop_watch(loop, fd, ready, arg);

	return err ? err : loop_make_urgent(loop, fd);
}

static int watch_all(struct life *life)
{
	struct loop *loop = life->run.loop;
	int err = watch_at_once(loop, life->signal_fd, on_signal, NULL);

	if (!err)
		err = watch_at_once(loop, life->peek_fd, on_peek, life);
	if (!err)
		err = watch_at_once(loop, life->timer_fd, on_timer, life);
	if (!err && life->child.pid)
		err = watch_at_once(loop, life->child.pid_fd, on_command_end, NULL);
	loop_watch_hangup(loop, fileno(life->run.out), on_hangup, life); /* fails for files */
	return err ? msg_errno(err, "event loop: watch failed") : 0;
}

static void begin_command(void *arg)
{
	CALL_HOOKS(begin, (struct run *)arg);
}

static void command_loaded(void *arg)
{
	CALL_HOOKS(loaded, (struct run *)arg);
}

/* Releases the command and waits for the end of the tracing. */
static int wait_for_end(struct life *life)
{
	struct child_hooks hooks = { begin_command, command_loaded, &life->run };
	int err = watch_all(life);

	if (err)
		return err;
	arm_timer(life, life->run.start_ns);
	err = life->child.pid ? child_release(&life->child, &hooks) : 0;
	return err ? err : loop_run(life->run.loop);
}

/* ---- the end of a run ---- */

static void print_truth(const struct run *run)
{
	char unit[QUANTITY_MAX];

	footprint_print("at end");
	msg_info("%llu %s in %.2f s, Linux %s", (unsigned long long)run->recorded,
		 quantity_unit(unit, run->recorded, run->tool->unit),
		 (double)(run->end_ns - run->start_ns) / NS_PER_S, run->system.release);
}

/* Captures write only some of the reports. */
static void print_dropped(const struct life *life)
{
	if (life->output.n_dropped)
		msg_warn("%u of %u reports dropped: write failed", life->output.n_dropped,
			 life->run.n_files);
}

static int report_last(struct life *life)
{
	int err;

	life->run.is_last = true;
	err = report(life, false);
	if (!err && !life->reader_is_gone) {
		print_truth(&life->run);
		print_dropped(life);
		loss_print(&life->run);
	}
	return err;
}

/* ---- a run ---- */

static int configure(struct run *run)
{
	int err = hooks_configure(run);

	return !err && run->tool->configure ? run->tool->configure(run) : err;
}

static int attach(struct run *run)
{
	int err = object_attach(run);

	if (!err)
		err = hooks_attach(run);
	return !err && run->tool->start ? run->tool->start(run) : err;
}

static int start_capture(struct run *run)
{
	if (!run_captures(run))
		return 0;
	run->capture.conditions.tool = run->tool->name;
	run->capture.conditions.interval_ns = run->interval_ns;
	return run->out_is_stream ? msg_error("--when needs --output to files")
				  : capture_start(&run->capture, run->loop);
}

/*
 * Prepares and begins tracing. Slow steps come before the attach, so that tracing starts at one
 * moment. -EINTR: a signal has ended the run.
 */
static int begin(struct run *run)
{
	static int (*const steps[])(struct run * run) = { object_open, configure,     object_load,
							  hooks_start, start_capture, attach };
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(steps); i++)
		err = signals_are_pending() ? -EINTR : steps[i](run);
	return err;
}

static int trace(struct life *life)
{
	int err;

	thread_hurry(HURRY_LIMIT_NS);
	err = begin(&life->run);
	if (!err) {
		thread_hurry(0);
		announce(&life->run);
		err = wait_for_end(life);
	}
	thread_hurry(HURRY_LIMIT_NS);
	CALL_HOOKS(stop, &life->run);
	object_detach(&life->run);
	if (!err)
		err = report_last(life);
	if (!err)
		err = life->err;
	return !err && output_is_failing(&life->output) ? -EIO : err;
}

static int open_life(struct life *life)
{
	struct run *run = &life->run;
	int err;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond RLIMIT_FSIZE fails with EFBIG instead */
	life->signal_fd = signals_catch();
	life->peek_fd = open_peeks();
	life->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	run->loop = loop_new();
	if (life->signal_fd < 0 || life->peek_fd < 0 || life->timer_fd < 0)
		return msg_errno(-errno, "signals and timer: setup failed");
	err = run->command ? child_start(&life->child, run->command) : 0;
	run->command_pid = life->child.pid;
	return err;
}

static void close_output(struct life *life)
{
	output_discard(&life->output);
	free(life->output.peeked);
	free((char *)life->output.path);
	series_free(&life->output.series);
}

static void close_life(struct life *life)
{
	CALL_HOOKS(finish, &life->run);
	capture_finish(&life->run.capture);
	object_close(&life->run);
	loop_free(life->run.loop);
	child_finish(&life->child);
	close_output(life);
	close(life->timer_fd);
	close(life->peek_fd);
}

static enum exit_status live(struct life *life)
{
	int err = object_check_kernel(&life->run);

	if (!err)
		err = open_output(life);
	if (err) {
		close_output(life);
		object_close(&life->run);
		return EXIT_FAILED;
	}
	err = open_life(life);
	if (!err)
		err = trace(life);
	close_life(life);
	if (err == -EINTR)
		msg_info("stopped before tracing began");
	return err && err != -EPIPE && err != -EINTR ? EXIT_FAILED : EXIT_DONE;
}

static enum exit_status run_tool(struct life *life, int argc, char **argv)
{
	const char *name = life->run.tool->name;

	msg_set_name(name);
	if (command_line_parse(&life->run, argc, argv))
		return EXIT_USAGE;
	if (life->run.want_help)
		command_line_print_help(&life->run, basename(*argv));
	else if (life->run.want_version)
		printf("%s (tracelets) %s\n", name, TRACELETS_VERSION);
	else
		return live(life);
	return output_flush_standard() ? EXIT_FAILED : EXIT_DONE;
}

int tool_main(const struct tool *tool, int argc, char **argv)
{
	struct life life = { .child.release_fd = -1, .peek_fd = -1, .timer_fd = -1 };
	enum exit_status status;

	output_open_standard();
	if (argc == 0)
		return printf(TOOL_LINE, tool->name, tool->summary) < 0;
	run_init(&life.run, tool);
	status = run_tool(&life, argc, argv);
	run_free(&life.run);
	return status;
}
