// SPDX-License-Identifier: GPL-2.0-only
/* Conditions of --when; see condition.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "base/readfile.h"
#include "base/thread.h"
#include "process/cgroups.h"
#include "run/child.h"
#include "run/condition.h"

#define PRESSURE_FOLDER	  "/proc/pressure"
#define MIN_WINDOW_NS	  (500 * NS_PER_MS) /* the kernel's limits */
#define MAX_WINDOW_NS	  (10 * NS_PER_S)
#define DEFAULT_WINDOW_NS (2 * NS_PER_S) /* needs no capability */
#define FILE_MAX_BYTES	  (1 << 20)
#define MIN_CPU_SPAN_NS	  (90 * NS_PER_MS) /* the machine's CPU time is counted in ticks of 10 ms */
#define MIN_STALL_NS	  (10 * NS_PER_MS)
#define READS_PER_STALL	  8
#define REST_PER_READ	  32 /* reading threads takes at most this part of a CPU */
#define PASSES_AVERAGED	  8  /* a single slow pass doesn't count */

pid_t *condition_target_list(const struct condition_target *target, size_t *n)
{
	pid_t *pids;

	if (target->cgroup)
		return cgroup_processes(target->cgroup, n);
	*n = target->n_pids;
	pids = mem_zalloc(*n, sizeof(*pids));
	for (size_t i = 0; i < *n; i++)
		pids[i] = (pid_t)target->pids[i];
	return pids;
}

/* Targets that a condition measures. */
enum scope {
	SCOPE_ANY,
	SCOPE_ENTIRE,	 /* not single threads */
	SCOPE_PROCESSES, /* neither single threads nor the whole machine */
};

struct condition_kind {
	const char *prefix; /* beginning of the condition's text */
	enum scope scope;
	int (*parse)(struct condition *condition, const char *what, const char *rest);
	int (*open)(struct condition *condition);
	void (*test)(struct condition *condition);
};

__attribute__((format(printf, 2, 3))) static void hold(const struct condition *condition,
						       const char *format, ...)
{
	struct conditions *all = condition->all;
	char *value = NULL, *reason;
	va_list args;

	va_start(args, format);
	if (vasprintf(&value, format, args) < 0)
		value = NULL;
	va_end(args);
	reason = mem_printf("%s: %s", condition->text, value ? value : "holds");
	all->holds(reason, all->arg);
	free(reason);
	free(value);
}

/* Parses "90%" or "90". */
static int parse_percent(const char *what, const char *text, uint64_t max, uint64_t *percent)
{
	char *number = mem_strdup(text), *end = number + strlen(number);
	int err;

	if (end > number && end[-1] == '%')
		end[-1] = '\0';
	err = parse_uint(what, number, 1, max, percent);
	free(number);
	return err;
}

/* ---- pressure ---- */

/* Parses "cpu:20%:2s". */
static int parse_pressure(struct condition *condition, const char *what, const char *rest)
{
	char *text = mem_strdup(rest), *percent = strchr(text, ':'), *window = NULL;
	int err = 0;

	if (percent) {
		*percent++ = '\0';
		window = strchr(percent, ':');
	}
	if (window)
		*window++ = '\0';
	condition->detail = !strcmp(text, "cpu")      ? "cpu"
			    : !strcmp(text, "memory") ? "memory"
			    : !strcmp(text, "io")     ? "io"
						      : NULL;
	condition->window_ns = DEFAULT_WINDOW_NS;
	if (!condition->detail || !percent)
		err = msg_error("%s: '%s' is not cpu, memory or io with a percentage (example: "
				"psi:cpu:20%%)",
				what, condition->text);
	if (!err)
		err = parse_percent(what, percent, 99, &condition->limit);
	if (!err && window)
		err = parse_duration(what, window, NS_PER_S, &condition->window_ns);
	free(text);
	if (!err && (condition->window_ns < MIN_WINDOW_NS || condition->window_ns > MAX_WINDOW_NS))
		err = msg_error("%s: '%s': the window must be 500 ms to 10 s", what,
				condition->text);
	return err;
}

static uint64_t threshold_us(const struct condition *condition)
{
	return condition->window_ns * condition->limit / (100 * NS_PER_US);
}

static void stop_watching(struct condition *condition)
{
	if (condition->lines)
		fclose(condition->lines);
	else if (condition->fd >= 0)
		close(condition->fd);
	condition->lines = NULL;
	condition->fd = -1;
}

/*
 * Reads the total of stalls. Returns its growth since an earlier total, which is at least a window
 * old once the condition has been watched for longer.
 */
static uint64_t update_stalls(struct condition *condition)
{
	struct condition_stall *stalls = condition->stalls, now = { .time_ns = clock_now_ns() };
	char text[256] = "";
	const char *total;

	if (pread(condition->fd, text, sizeof(text) - 1, 0) < 0)
		return 0;
	total = strstr(text, "total=");
	now.total_us = total ? strtoull(total + strlen("total="), NULL, 10) : 0;
	if (!stalls[0].time_ns)
		stalls[0] = stalls[1] = now;
	if (now.time_ns - stalls[1].time_ns > condition->window_ns) {
		stalls[0] = stalls[1];
		stalls[1] = now;
	}
	return now.total_us - stalls[0].total_us;
}

/*
 * Handles the kernel's event. A new trigger of Linux 6.18 may report a stall that was long ago, so
 * the growth is computed here. A trigger whose cgroup was removed reports errors for ever: it is
 * closed, and opened again in test_pressure().
 */
static enum loop_verdict on_pressure(int fd, void *arg)
{
	struct condition *condition = arg;
	struct pollfd now = { .fd = fd, .events = POLLPRI };
	uint64_t stalled_us;

	if (poll(&now, 1, 0) > 0 && now.revents & POLLERR) {
		msg_info("%s: cgroup removed, waiting for it to return", condition->text);
		stop_watching(condition);
		memset(condition->stalls, 0, sizeof(condition->stalls));
		return LOOP_GO;
	}
	stalled_us = update_stalls(condition);
	if (stalled_us >= threshold_us(condition))
		hold(condition, "tasks stalled for %.0f ms in %.1f s (limit: %.0f ms in %.1f s)",
		     (double)stalled_us / 1000,
		     (double)(clock_now_ns() - condition->stalls[0].time_ns) / NS_PER_S,
		     (double)threshold_us(condition) / 1000,
		     (double)condition->window_ns / NS_PER_S);
	return LOOP_GO;
}

static int refuse_pressure(const struct condition *condition, const char *path)
{
	bool is_there = !access(PRESSURE_FOLDER "/cpu", R_OK);

	if (errno == ENOENT && !is_there)
		return msg_error("--when %s: the kernel has no pressure stall information "
				 "(CONFIG_PSI, boot option psi=1)",
				 condition->text);
	if (errno == EOPNOTSUPP)
		return msg_error("--when %s: pressure stall information is disabled (boot option "
				 "psi=1)",
				 condition->text);
	if (errno == EINVAL)
		return msg_error("--when %s: refused by the kernel (use a window of 2, 4, 6, 8 or "
				 "10 s, or CAP_SYS_RESOURCE)",
				 condition->text);
	return msg_errno(-errno, "--when %s: %s", condition->text, path);
}

static char *pressure_path(const struct condition *condition)
{
	const char *cgroup = condition->all->target->cgroup;

	return cgroup ? mem_printf("%s/%s.pressure", cgroup, condition->detail)
		      : mem_printf(PRESSURE_FOLDER "/%s", condition->detail);
}

static int open_pressure(struct condition *condition)
{
	char *path = pressure_path(condition), trigger[64];
	int err = 0;

	snprintf(trigger, sizeof(trigger), "some %" PRIu64 " %" PRIu64, threshold_us(condition),
		 (uint64_t)(condition->window_ns / NS_PER_US));
	condition->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (condition->fd < 0 || write(condition->fd, trigger, strlen(trigger) + 1) < 0)
		err = refuse_pressure(condition, path);
	if (!err &&
	    loop_watch_priority(condition->all->loop, condition->fd, on_pressure, condition))
		err = msg_errno(-errno, "event loop: watch failed");
	if (err)
		stop_watching(condition);
	free(path);
	update_stalls(condition);
	return err;
}

static void test_pressure(struct condition *condition)
{
	char *path;

	if (condition->fd >= 0) {
		update_stalls(condition);
		return;
	}
	path = pressure_path(condition);
	if (!access(path, F_OK))
		open_pressure(condition);
	free(path);
}

/* ---- CPU time and memory of the target ---- */

static int parse_cpu(struct condition *condition, const char *what, const char *rest)
{
	return parse_percent(what, rest, 1000000, &condition->limit);
}

static int parse_rss(struct condition *condition, const char *what, const char *rest)
{
	return parse_size(what, rest, &condition->limit);
}

/* Parses the rest of a file by a format with one number. Returns the number, 0 if there is none. */
static uint64_t read_number(const char *path, const char *format)
{
	char *text = readfile(path, FILE_MAX_BYTES, NULL);
	unsigned long long value = 0;

	if (text && sscanf(text, format, &value) != 1)
		value = 0;
	free(text);
	return value;
}

static uint64_t read_process_cpu(uint32_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

/* Returns the CPU time used by the machine, divided by the number of CPUs. */
static uint64_t read_machine_cpu(void)
{
	unsigned long long user = 0, nice = 0, system = 0, irq = 0, softirq = 0, steal = 0;
	uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK);
	char *text = readfile("/proc/stat", FILE_MAX_BYTES, NULL);

	if (text)
		sscanf(text, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice, &system,
		       &irq, &softirq, &steal);
	free(text);
	return (user + nice + system + irq + softirq + steal) * NS_PER_S / ticks_per_s / cpus;
}

static bool is_machine(const struct condition_target *target)
{
	return !target->cgroup && !target->n_pids;
}

static uint64_t read_cpu(const struct condition_target *target)
{
	uint64_t used_ns = 0;
	char *path;

	if (target->cgroup) {
		path = mem_printf("%s/cpu.stat", target->cgroup);
		used_ns = read_number(path, "usage_usec %llu") * NS_PER_US;
		free(path);
		return used_ns;
	}
	for (size_t i = 0; i < target->n_pids; i++)
		used_ns += read_process_cpu(target->pids[i]);
	return is_machine(target) ? read_machine_cpu() : used_ns;
}

static int open_cpu(struct condition *condition)
{
	condition->cpu_ns = read_cpu(condition->all->target);
	condition->cpu_read_ns = clock_now_ns();
	return 0;
}

static void test_cpu(struct condition *condition)
{
	uint64_t span_ns = clock_now_ns() - condition->cpu_read_ns, before_ns = condition->cpu_ns;
	double percent;

	if (is_machine(condition->all->target) && span_ns < MIN_CPU_SPAN_NS)
		return; /* the next interval includes this one */
	open_cpu(condition);
	if (condition->cpu_ns <= before_ns)
		return; /* a process has exited, or no CPU time was used */
	percent = 100 * (double)(condition->cpu_ns - before_ns) / (double)span_ns;
	if (percent > (double)condition->limit)
		hold(condition, "%.0f %%", percent);
}

static void test_rss(struct condition *condition)
{
	uint64_t bytes = 0;
	size_t n;
	pid_t *pids = condition_target_list(condition->all->target, &n);

	for (size_t i = 0; i < n; i++) {
		char *path = mem_printf("/proc/%d/statm", pids[i]);

		bytes += read_number(path, "%*u %llu") * (uint64_t)sysconf(_SC_PAGESIZE);
		free(path);
	}
	free(pids);
	if (bytes > condition->limit)
		hold(condition, "%.1f MiB", (double)bytes / (1 << 20));
}

/* ---- waits for a CPU ---- */

static struct process_usage read_usage(const struct condition *condition)
{
	size_t n;
	pid_t *pids = condition_target_list(condition->all->target, &n);
	struct process_usage usage = process_usage_read(pids, n);

	free(pids);
	return usage;
}

static void test_runq(struct condition *condition)
{
	struct process_usage now = read_usage(condition);
	uint64_t waited_ns = process_usage_waited_ns(&condition->usage, &now);
	uint64_t interval_ns = condition->all->tested_ns - condition->all->tested_before_ns;
	double percent = interval_ns ? 100 * (double)waited_ns / (double)interval_ns : 0;

	process_usage_free(&condition->usage);
	condition->usage = now;
	if (percent > (double)condition->limit)
		hold(condition, "%.0f %%", percent);
}

static int require_schedstat(const struct condition *condition)
{
	return access("/proc/self/schedstat", R_OK)
		       ? msg_error("--when %s: the kernel has no /proc/PID/schedstat",
				   condition->text)
		       : 0;
}

static int open_runq(struct condition *condition)
{
	int err = require_schedstat(condition);

	if (!err)
		condition->usage = read_usage(condition);
	return err;
}

/* ---- threads that stall ---- */

static int parse_wait(struct condition *condition, const char *what, const char *rest)
{
	int err = parse_duration(what, rest, NS_PER_S, &condition->limit);

	if (!err && condition->limit < MIN_STALL_NS)
		err = msg_error("%s: '%s': the time must be at least 10 ms", what, condition->text);
	condition->stalling.limit_ns = condition->limit;
	return err;
}

static int parse_stall(struct condition *condition, const char *what, const char *rest)
{
	condition->stalling.counts_cpu = true;
	return parse_wait(condition, what, rest);
}

static void on_stall(const char *text, void *arg)
{
	hold(arg, "%s", text);
}

/* Sets the next time to read, later if reading takes much CPU time, now and in the last passes. */
static void rest(struct condition *condition, uint64_t used_ns)
{
	uint64_t rest_ns;

	condition->used_ns += used_ns / PASSES_AVERAGED - condition->used_ns / PASSES_AVERAGED;
	rest_ns = condition->used_ns * REST_PER_READ;
	condition->read_at_ns = clock_now_ns() + rest_ns;
	if (condition->is_slow || rest_ns < condition->limit / 2)
		return;
	condition->is_slow = true;
	msg_warn("%s: too many threads, read only every %" PRIu64 " ms: short stalls are missed",
		 condition->text, (uint64_t)(rest_ns / NS_PER_MS));
}

static enum loop_verdict on_time_to_read(int fd, void *arg)
{
	struct condition *condition = arg;
	uint64_t expirations, used_ns = clock_thread_ns();
	pid_t *pids;
	size_t n;

	if (read(fd, &expirations, sizeof(expirations)) < 0 ||
	    clock_now_ns() < condition->read_at_ns)
		return LOOP_GO;
	pids = condition_target_list(condition->all->target, &n);
	thread_stalls_read(&condition->stalling, pids, n, on_stall, condition);
	free(pids);
	rest(condition, clock_thread_ns() - used_ns);
	return LOOP_GO;
}

static int open_stalls(struct condition *condition)
{
	int err = require_schedstat(condition);

	if (err)
		return err;
	condition->fd = loop_every(condition->all->loop, condition->limit / READS_PER_STALL,
				   on_time_to_read, condition);
	return condition->fd < 0 ? msg_errno(condition->fd, "event loop: watch failed") : 0;
}

/* ---- commands ---- */

static int parse_command(struct condition *condition, const char *what, const char *rest)
{
	condition->detail = rest;
	return *rest ? 0 : msg_error("%s: cmd: a command must follow", what);
}

/*
 * Starts a program in a process group of its own, so that its children end with it, and with the
 * priority and the limits that this process was started with. output: its standard output; -1:
 * none.
 */
static int spawn(pid_t *child, const char *program, const char *const argv[], int output)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, ignored;
	int err;

	sigemptyset(&none);
	sigemptyset(&ignored);
	sigaddset(&ignored, SIGPIPE);
	sigaddset(&ignored, SIGXFSZ);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
					       POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setsigdefault(&how, &ignored);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (output < 0)
		posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
	thread_calm();
	limits_restore();
	err = posix_spawn(child, program, &files, &how, (char *const *)argv, environ);
	limits_raise();
	thread_resume();
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	return -err;
}

static enum loop_verdict on_command_end(int fd, void *arg)
{
	struct condition *condition = arg;
	int status = -1;

	(void)fd;
	waitpid(condition->child, &status, 0);
	stop_watching(condition);
	condition->child = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		hold(condition, "exit status 0");
	return LOOP_GO;
}

static void end_child(struct condition *condition)
{
	if (!condition->child)
		return;
	kill(-condition->child, SIGKILL);
	waitpid(condition->child, NULL, 0);
	stop_watching(condition);
	condition->child = 0;
}

static int start_command(struct condition *condition)
{
	const char *const argv[] = { "sh", "-c", condition->detail, NULL };
	int err = spawn(&condition->child, "/bin/sh", argv, -1);

	if (err) {
		condition->child = 0;
		return msg_errno(err, "--when %s: start failed", condition->text);
	}
	condition->fd = (int)syscall(SYS_pidfd_open, condition->child, 0);
	err = condition->fd < 0
		      ? -errno
		      : loop_watch(condition->all->loop, condition->fd, on_command_end, condition);
	return err ? msg_errno(err, "--when %s: watch failed", condition->text) : 0;
}

static void test_command(struct condition *condition)
{
	if (condition->child)
		msg_debug("%s: still running after an interval, killed", condition->text);
	end_child(condition);
	start_command(condition);
}

/* ---- percentiles of waits for a CPU, by the tool runqlat ---- */

#define DELAYS_TOOL "runqlat"

/* Parses "p99>10ms", after "runq:". */
static int parse_delay(struct condition *condition, const char *what, const char *rest)
{
	static const struct {
		const char *prefix, *member; /* member: of runqlat's JSON */
	} values[] = { { "p50>", "\"p50\":" },
		       { "p90>", "\"p90\":" },
		       { "p99>", "\"p99\":" },
		       { "p99.9>", "\"p99_9\":" },
		       { "max>", "\"max\":" } };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (strncmp(rest, values[i].prefix, strlen(values[i].prefix)) != 0)
			continue;
		condition->detail = values[i].member;
		return parse_duration(what, rest + strlen(values[i].prefix), NS_PER_S,
				      &condition->limit);
	}
	return msg_error("%s: '%s' is not p50, p90, p99, p99.9 or max with a time (example: "
			 "runq:p99>10ms)",
			 what, condition->text);
}

/* Handles the end of runqlat: at the end of its target, or after a failure, which it printed. */
static void on_delays_end(struct condition *condition)
{
	int status = 0;

	waitpid(condition->child, &status, 0);
	condition->child = 0;
	stop_watching(condition);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		msg_warn("%s: " DELAYS_TOOL " failed, no longer watched", condition->text);
}

/* Reads a line of JSON: a run's, or a histogram in microseconds. */
static enum loop_verdict on_delays(int fd, void *arg)
{
	struct condition *condition = arg;
	char *line = NULL;
	const char *value;
	size_t size = 0;
	double us;

	(void)fd;
	if (getline(&line, &size, condition->lines) < 0) {
		on_delays_end(condition);
	} else if ((value = strstr(line, condition->detail))) {
		us = strtod(value + strlen(condition->detail), NULL);
		if (us * NS_PER_US > (double)condition->limit)
			hold(condition, "%.3f ms", us / 1000);
	}
	free(line);
	return LOOP_GO;
}

/* Returns the target's option and its value: "-p", "1,2"; NULL: the whole machine. */
static const char *target_option(const struct condition_target *target, char **value)
{
	*value = NULL;
	if (target->cgroup) {
		*value = mem_strdup(target->cgroup);
		return "--cgroup";
	}
	for (size_t i = 0; i < target->n_pids; i++) {
		char *longer =
			mem_printf("%s%s%" PRIu32, i ? *value : "", i ? "," : "", target->pids[i]);

		free(*value);
		*value = longer;
	}
	return *value ? "-p" : NULL;
}

static int start_delays(struct condition *condition, int output)
{
	const struct conditions *all = condition->all;
	char *interval = mem_printf("%lluus", all->interval_ns / NS_PER_US);
	char *program = child_find_tool(all->tool, DELAYS_TOOL), *value;
	const char *option = target_option(all->target, &value);
	const char *const argv[] = { DELAYS_TOOL, "--quiet", "--format", "json", "--interval",
				     interval,	  option,    value,	 NULL };
	int err = program ? spawn(&condition->child, program, argv, output) : -ENOENT;

	if (err) {
		condition->child = 0;
		err = msg_errno(err, "--when %s: %s: start failed", condition->text,
				program ? program : DELAYS_TOOL);
	}
	free(program);
	free(interval);
	free(value);
	return err;
}

static int open_delays(struct condition *condition)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return msg_errno(-errno, "--when %s: pipe failed", condition->text);
	err = start_delays(condition, ends[1]);
	close(ends[1]);
	condition->fd = ends[0];
	condition->lines = fdopen(condition->fd, "r");
	setvbuf(condition->lines, NULL, _IONBF, 0); /* what is not read yet is seen by the loop */
	if (!err && loop_watch(condition->all->loop, condition->fd, on_delays, condition))
		err = msg_errno(-errno, "event loop: watch failed");
	return err;
}

/* ---- all ---- */

/* SIGUSR1 begins a capture with every condition. */
static int parse_signal(struct condition *condition, const char *what, const char *rest)
{
	return *rest ? msg_error("%s: '%s' is not a condition", what, condition->text) : 0;
}

static const struct condition_kind kinds[] = {
	{ "psi:", SCOPE_ANY, parse_pressure, open_pressure, test_pressure },
	{ "cpu>", SCOPE_ENTIRE, parse_cpu, open_cpu, test_cpu },
	{ "runq>", SCOPE_PROCESSES, parse_cpu, open_runq, test_runq },
	{ "runq:", SCOPE_ENTIRE, parse_delay, open_delays, NULL },
	{ "rss>", SCOPE_PROCESSES, parse_rss, NULL, test_rss },
	{ "wait>", SCOPE_PROCESSES, parse_wait, open_stalls, NULL },
	{ "stall>", SCOPE_PROCESSES, parse_stall, open_stalls, NULL },
	{ "cmd:", SCOPE_ANY, parse_command, start_command, test_command },
	{ "signal", SCOPE_ANY, parse_signal, NULL, NULL },
};

int conditions_parse(const char *what, const char *text, void *dest)
{
	struct conditions *conditions = dest;
	struct condition condition = { .text = text, .fd = -1 };

	if (conditions->n == CONDITIONS_MAX)
		return msg_error("%s: at most %d conditions", what, CONDITIONS_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(text, kinds[i].prefix, strlen(kinds[i].prefix)))
			condition.kind = &kinds[i];
	if (!condition.kind)
		return msg_error(
			"%s: '%s' is not a condition (examples: psi:cpu:20%%, cpu>90%%, "
			"runq>50%%, runq:p99>10ms, rss>2G, wait>500ms, stall>200ms, signal, "
			"cmd:COMMAND)",
			what, text);
	if (condition.kind->parse(&condition, what, text + strlen(condition.kind->prefix)))
		return -EINVAL;
	conditions->list[conditions->n++] = condition;
	return 0;
}

int conditions_check(const struct conditions *conditions, bool has_processes, bool is_partial)
{
	for (size_t i = 0; i < conditions->n; i++) {
		const struct condition *condition = &conditions->list[i];

		if (condition->kind->scope == SCOPE_PROCESSES && (!has_processes || is_partial))
			return msg_error("--when %s: needs -p, a command or a cgroup (not --tid or "
					 "--comm)",
					 condition->text);
		if (condition->kind->scope == SCOPE_ENTIRE && is_partial)
			return msg_error("--when %s: measures processes and cgroups (drop --tid or "
					 "--comm)",
					 condition->text);
	}
	return 0;
}

/* The intervals of runqlat end within those of the tool, and are reported later. */
unsigned int conditions_delay(const struct conditions *conditions)
{
	for (size_t i = 0; i < conditions->n; i++)
		if (conditions->list[i].kind->open == open_delays)
			return 2;
	return 0;
}

int conditions_open(struct conditions *conditions)
{
	int err = 0;

	conditions->tested_ns = clock_now_ns();
	for (size_t i = 0; !err && i < conditions->n; i++) {
		conditions->list[i].all = conditions;
		if (conditions->list[i].kind->open)
			err = conditions->list[i].kind->open(&conditions->list[i]);
	}
	return err;
}

void conditions_test(struct conditions *conditions)
{
	conditions->tested_before_ns = conditions->tested_ns;
	conditions->tested_ns = clock_now_ns();
	for (size_t i = 0; i < conditions->n; i++)
		if (conditions->list[i].kind->test)
			conditions->list[i].kind->test(&conditions->list[i]);
}

void conditions_close(struct conditions *conditions)
{
	for (size_t i = 0; i < conditions->n; i++) {
		end_child(&conditions->list[i]);
		stop_watching(&conditions->list[i]);
		process_usage_free(&conditions->list[i].usage);
		thread_stalls_free(&conditions->list[i].stalling);
	}
}
