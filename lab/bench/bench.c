// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures each tool beside its peers: what its BPF programs cost per event, how much the traced
 * system slows down, how fast the tool starts and ends, and what its loader takes. Everything is
 * measured on the same workload in interleaved rounds, and medians are shown: on a noisy machine
 * only the ratios within one run mean anything.
 *
 *	bench TOOLS SCRIPTS JSON [ROUNDS]
 *
 * TOOLS is the folder with the tools, SCRIPTS the one with the bpftrace scripts.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "binary.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "median.h"
#include "programs.h"
#include "work.h"

#include "empty.skel.h"

#define MAX_CONTENDERS 8
#define MAX_ROUNDS     50
#define MAX_ARGS       16

#define POLL_US		200
#define QUIET_NS	40000000ULL    /* nothing new for so long: it is attached */
#define BUSY_NS		8000000ULL     /* of CPU time within that: it is not at rest */
#define REST_LIMIT_NS	1100000000ULL  /* after that it is measured all the same */
#define ATTACH_LIMIT_NS 20000000000ULL /* then it has failed */
#define WINDOW_US	350000	       /* two of them fit into the time that is traced */
#define TRACED_NS	2000000000ULL
#define LOADER_CPU	0
#define WORK_CPU	1

enum metric {
	METRIC_BPF_NS,
	METRIC_SLOWDOWN,
	METRIC_START_MS,
	METRIC_BEYOND_MS,
	METRIC_CPU_MS,
	METRIC_RSS_MB,
	METRIC_HELP_MS,
	METRIC_BINARY_KB,
	N_METRICS,
};

static const struct {
	const char *key, *title;
	int decimals;
} metrics[N_METRICS] = {
	[METRIC_BPF_NS] = { "bpf_net_ns_per_event", "BPF ns", 0 },
	[METRIC_SLOWDOWN] = { "slowdown_percent", "slower %", 1 },
	[METRIC_START_MS] = { "exec_to_attached_ms", "start ms", 1 },
	[METRIC_BEYOND_MS] = { "wall_beyond_interval_ms", "beyond ms", 1 },
	[METRIC_CPU_MS] = { "loader_cpu_ms", "CPU ms", 1 },
	[METRIC_RSS_MB] = { "loader_peak_rss_mb", "RSS MB", 1 },
	[METRIC_HELP_MS] = { "exec_to_end_of_help_ms", "help ms", 1 },
	[METRIC_BINARY_KB] = { "binary_kb", "file KB", 0 },
};

enum event_kind {
	EVENT_SWITCH, /* a wake-up and a switch: all programs' time by the system's switches */
	EVENT_RUN,    /* a sample */
	EVENT_CALL,   /* a system call: all programs' time by the runs of the busiest */
};

/* %T: the tools' folder, %S: the scripts', %P: the workload's process. */
struct contender {
	const char *name, *command;
	const char *unavailable; /* why it isn't even tried */
};

struct goal {
	enum metric metric;
	double ratio; /* ours / the first peer's, at most */
};

/* One question. The first contender is ours, the second the one that the goals are about. */
struct group {
	const char *title;
	enum work_kind work;
	enum event_kind event;
	struct contender contenders[MAX_CONTENDERS];
	struct goal goals[N_METRICS];
};

#define LOADER_GOALS                                      \
	{ METRIC_START_MS, 0.5 }, { METRIC_CPU_MS, 0.5 }, \
	{                                                 \
		METRIC_RSS_MB, 0.8                        \
	}

static const struct group groups[] = {
	{ .title = "runqlat",
	  .work = WORK_PINGPONG,
	  .event = EVENT_SWITCH,
	  .contenders = {
		{ "tracelets", "%T/runqlat 2 1" },
		{ "libbpf-tools", "/usr/sbin/runqlat 2 1" },
		{ "tracelets, static", "%T/static/tracelets runqlat 2 1" },
		{ "bpftrace", "/usr/bin/bpftrace %S/runqlat.bt" },
		{ "perf sched", NULL, "means and maxima by task, no distribution" },
	  },
	  .goals = { { METRIC_BPF_NS, 0.6 }, LOADER_GOALS } },
	{ .title = "offcputime, user stacks by frame pointers as its peers have them",
	  .work = WORK_PINGPONG,
	  .event = EVENT_SWITCH,
	  .contenders = {
		{ "tracelets", "%T/offcputime --unwind fp 2" },
		{ "libbpf-tools", "/usr/sbin/offcputime 2" },
		{ "bpftrace", "/usr/bin/bpftrace %S/offcputime.bt" },
	  },
	  .goals = { { METRIC_BPF_NS, 0.7 }, LOADER_GOALS } },
	{ .title = "offcputime, complete user stacks against the peer's by frame pointers",
	  .work = WORK_PINGPONG,
	  .event = EVENT_SWITCH,
	  .contenders = {
		{ "tracelets", "%T/offcputime 2" },
		{ "libbpf-tools", "/usr/sbin/offcputime 2" },
	  },
	  .goals = { { METRIC_BPF_NS, 1.3 } } },
	{ .title = "offcputime -p PID, by frame pointers",
	  .work = WORK_PINGPONG,
	  .event = EVENT_SWITCH,
	  .contenders = {
		{ "tracelets", "%T/offcputime --unwind fp -p %P 2" },
		{ "libbpf-tools", "/usr/sbin/offcputime -p %P 2" },
	  },
	  .goals = { { METRIC_BPF_NS, 0.7 }, LOADER_GOALS } },
	{ .title = "syscount",
	  .work = WORK_CALLS,
	  .event = EVENT_CALL,
	  .contenders = {
		{ "tracelets", "%T/syscount -d 2" },
		{ "libbpf-tools", "/usr/sbin/syscount -d 2" },
		{ "bpftrace", "/usr/bin/bpftrace %S/syscount.bt" },
	  },
	  .goals = { { METRIC_BPF_NS, 0.5 }, LOADER_GOALS } },
	{ .title = "syscount -P, by process",
	  .work = WORK_CALLS,
	  .event = EVENT_CALL,
	  .contenders = {
		{ "tracelets", "%T/syscount -P -d 2" },
		{ "libbpf-tools", "/usr/sbin/syscount -P -d 2" },
	  },
	  .goals = { { METRIC_BPF_NS, 1.0 } } },
	{ .title = "syscount -L, with percentiles against the peer's sums",
	  .work = WORK_CALLS,
	  .event = EVENT_CALL,
	  .contenders = {
		{ "tracelets", "%T/syscount -L -d 2" },
		{ "libbpf-tools", "/usr/sbin/syscount -L -d 2" },
	  },
	  .goals = { { METRIC_BPF_NS, 1.0 } } },
	{ .title = "profile",
	  .work = WORK_SPIN,
	  .event = EVENT_RUN,
	  .contenders = {
		{ "tracelets", "%T/profile 2" },
		{ "perf record", "/usr/bin/perf record -q -o /dev/null -F 99 -a -g -- sleep 2" },
		{ "bpftrace", "/usr/bin/bpftrace %S/profile.bt" },
		{ "libbpf-tools", NULL, "Debian's libbpf-tools have no profile" },
	  },
	  .goals = { LOADER_GOALS } },
	{ .title = "memleak -p PID on malloc() and free(): BPF time by program run, 3 to a pair",
	  .work = WORK_ALLOCATE,
	  .event = EVENT_RUN,
	  .contenders = {
		{ "tracelets", "%T/memleak --format text -p %P 2 1" },
		{ "by frame pointers", "%T/memleak --unwind fp --format text -p %P 2 1" },
		{ "BCC", "/usr/sbin/memleak-bpfcc -p %P 2 1" },
	  } },
	{ .title = "pagefaults without stacks, which no peer has: bpftrace counts by process",
	  .work = WORK_FAULT,
	  .event = EVENT_RUN,
	  .contenders = {
		{ "tracelets -P", "%T/pagefaults -P 2 1" },
		{ "bpftrace", "/usr/bin/bpftrace %S/pagefaults_by_process.bt" },
		{ "tracelets --by-file", "%T/pagefaults --by-file 2 1" },
		{ "  -P --by-file", "%T/pagefaults -P --by-file 2 1" },
	  } },
	{ .title = "pagefaults by stack",
	  .work = WORK_FAULT,
	  .event = EVENT_RUN,
	  .contenders = {
		{ "tracelets, fp", "%T/pagefaults -f --unwind fp 2 1" },
		{ "bpftrace", "/usr/bin/bpftrace %S/pagefaults.bt" },
		{ "tracelets", "%T/pagefaults -f 2 1" },
	  } },
};

struct result {
	double samples[N_METRICS][MAX_ROUNDS], median[N_METRICS];
	int n_rounds;
	bool is_dynamic;
	char *failure; /* why the last round has no figures */
};

static const char *tools_path, *scripts_path;

/* ---- the machine ---- */

static double measure_speed(const struct work *work)
{
	uint64_t ops = *work->ops, start_ns = clock_now_ns();

	usleep(WINDOW_US);
	return (double)(*work->ops - ops) * 1e9 / (double)(clock_now_ns() - start_ns);
}

/* ---- the price of counting ---- */

struct price {
	double ns[64]; /* by enum bpf_prog_type */
};

/*
 * On each fault where that is the work: there a program is warm, in a sample of a clock it isn't.
 */
static struct bpf_link *attach_perf_event(struct bpf_program *program, enum work_kind work)
{
	bool by_fault = work == WORK_FAULT;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = by_fault ? PERF_COUNT_SW_PAGE_FAULTS_MIN : PERF_COUNT_SW_CPU_CLOCK,
		.freq = !by_fault,
		.sample_freq = by_fault ? 1 : 99, /* or its period */
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, WORK_CPU, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? NULL : bpf_program__attach_perf_event(program, fd);
}

static double measure_empty(struct bpf_program *program, enum work_kind work)
{
	struct bpf_prog_info info = {};
	struct bpf_link *link;
	uint32_t size = sizeof(info);

	if (bpf_program__type(program) == BPF_PROG_TYPE_PERF_EVENT)
		link = attach_perf_event(program, work);
	else
		link = bpf_program__attach(program);
	if (!link)
		return 0;
	usleep(WINDOW_US);
	bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size);
	bpf_link__destroy(link);
	return info.run_cnt ? (double)info.run_time_ns / (double)info.run_cnt : 0;
}

/*
 * The same program costs more at one place than at another: calls have empty programs of their own.
 */
static int measure_price(struct price *price, const struct group *group)
{
	struct empty_bpf *skel = empty_bpf__open_and_load();
	int stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct bpf_program *program;

	if (!skel || stats_fd < 0)
		return msg_errno(-errno, "measuring an empty program");
	bpf_object__for_each_program(program, skel->obj)
		if (!strstr(bpf_program__name(program), "call") == (group->event != EVENT_CALL))
			price->ns[bpf_program__type(program)] = measure_empty(program, group->work);
	close(stats_fd);
	empty_bpf__destroy(skel);
	return 0;
}

/* ---- one run of one contender ---- */

struct observation {
	struct programs programs;
	uint64_t start_ns, attached_ns;
	uint64_t perf_events_ns; /* when the last perf event was opened */
	int n_perf_events;
	uint64_t n_switches;
	double base_speed, traced_speed;
	pid_t pid;
};

/* Expands one word of a command; the result is freed by the caller. */
static char *expand_word(const char *word, const struct work *work)
{
	if (!strncmp(word, "%T", 2))
		return mem_printf("%s%s", tools_path, word + 2);
	if (!strncmp(word, "%S", 2))
		return mem_printf("%s%s", scripts_path, word + 2);
	if (!strcmp(word, "%P"))
		return mem_printf("%d", work->pids[0]);
	return mem_strdup(word);
}

static void expand_command(const char *command, const struct work *work, char *argv[MAX_ARGS])
{
	char *copy = mem_strdup(command), *save, *word;
	int n = 0;

	for (word = strtok_r(copy, " ", &save); word && n < MAX_ARGS - 1;
	     word = strtok_r(NULL, " ", &save))
		argv[n++] = expand_word(word, work);
	argv[n] = NULL;
	free(copy);
}

static void free_command(char *argv[MAX_ARGS])
{
	for (int i = 0; argv[i]; i++)
		free(argv[i]);
}

static pid_t start_contender(char **argv, int error_fd)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(open("/dev/null", O_RDWR), 0);
	dup2(0, 1);
	dup2(error_fd, 2);
	execv(argv[0], argv);
	_exit(127);
}

static bool poll_perf_events(struct observation *seen)
{
	int n = process_perf_events(seen->pid);

	if (n <= seen->n_perf_events)
		return false;
	seen->n_perf_events = n;
	seen->perf_events_ns = clock_now_ns();
	return true;
}

/* A tool is attached when its busiest program first ran, a sampler when its last event is open. */
static uint64_t attached_ns(const struct observation *seen, bool is_sampler)
{
	const struct program *busiest = programs_busiest(&seen->programs);

	return is_sampler ? seen->perf_events_ns : busiest ? busiest->first_run_ns : 0;
}

static bool poll_observation(struct observation *seen, bool is_sampler)
{
	bool is_news = programs_poll(&seen->programs);

	if (is_sampler)
		return poll_perf_events(seen);
	if (is_news)
		programs_find_owner(&seen->programs, seen->pid);
	return is_news;
}

/*
 * Waits until the contender is attached and has come to rest: some go on preparing after that, and
 * what is measured before they are done is not what they cost.
 */
static int wait_until_attached(struct observation *seen, bool is_sampler)
{
	uint64_t news_ns = seen->start_ns, busy_ns = 0, attached, now_ns;

	do {
		usleep(POLL_US);
		now_ns = clock_now_ns();
		if (poll_observation(seen, is_sampler) ||
		    process_cpu_ns(seen->pid) - busy_ns > BUSY_NS) {
			news_ns = now_ns;
			busy_ns = process_cpu_ns(seen->pid);
		}
		if (child_has_ended(seen->pid) || now_ns - seen->start_ns > ATTACH_LIMIT_NS)
			return -ESRCH;
		attached = attached_ns(seen, is_sampler);
	} while (!attached || (now_ns - news_ns < QUIET_NS && now_ns - attached < REST_LIMIT_NS));
	return 0;
}

/* A program may come late, if the kernel made its attaching wait. */
static void poll_for(struct observation *seen, uint64_t duration_ns)
{
	uint64_t end_ns = clock_now_ns() + duration_ns;

	while (clock_now_ns() < end_ns) {
		usleep(10 * POLL_US);
		programs_poll(&seen->programs);
	}
}

/* Two windows while it traces: one with the kernel's counters on, one without, for the speed. */
static void observe_windows(struct observation *seen, const struct work *work, int stats_fd)
{
	programs_find_owner(&seen->programs, seen->pid);
	programs_mark(&seen->programs);
	seen->n_switches = machine_switches();
	poll_for(seen, WINDOW_US * 1000ULL);
	programs_mark(&seen->programs);
	seen->n_switches = machine_switches() - seen->n_switches;
	close(stats_fd);
	seen->traced_speed = measure_speed(work);
}

static double net_ns_per_event(const struct observation *seen, const struct price *price,
			       enum event_kind event)
{
	double net_ns = 0, n_runs = 0, n_calls = 0;

	for (int i = 0; i < seen->programs.count; i++) {
		const struct program *program = &seen->programs.items[i];

		if (!program->is_own || !program->n_window_runs)
			continue;
		net_ns += (double)program->window_ns -
			  (double)program->n_window_runs * price->ns[program->type % 64];
		n_runs += (double)program->n_window_runs;
		if ((double)program->n_window_runs > n_calls)
			n_calls = (double)program->n_window_runs;
	}
	if (!n_runs)
		return NAN;
	if (event == EVENT_SWITCH)
		return net_ns / (double)seen->n_switches;
	return net_ns / (event == EVENT_CALL ? n_calls : n_runs);
}

static double time_ms(const struct timeval *tv)
{
	return (double)tv->tv_sec * 1e3 + (double)tv->tv_usec / 1e3;
}

static void fill_figures(double figures[N_METRICS], const struct observation *seen,
			 const struct rusage *usage)
{
	figures[METRIC_SLOWDOWN] = 100 * (seen->base_speed / seen->traced_speed - 1);
	figures[METRIC_START_MS] = ((double)seen->attached_ns - (double)seen->start_ns) / 1e6;
	figures[METRIC_BEYOND_MS] = ((double)(clock_now_ns() - seen->start_ns) - TRACED_NS) / 1e6;
	figures[METRIC_CPU_MS] = time_ms(&usage->ru_utime) + time_ms(&usage->ru_stime);
	figures[METRIC_RSS_MB] = (double)usage->ru_maxrss / 1024;
}

/* How a contender failed, with the last line that it had to say. */
static char *read_complaint(FILE *errors, int status)
{
	char text[200] = "";

	rewind(errors);
	while (fgets(text, sizeof(text), errors))
		text[strcspn(text, "\n")] = 0;
	if (WIFSIGNALED(status))
		return mem_printf("signal %d: %s", WTERMSIG(status), text);
	return mem_printf("status %d: %s", WEXITSTATUS(status), text);
}

/* Follows a contender from its start until it has traced for two windows. */
static int observe_contender(struct observation *seen, const struct group *group,
			     const struct work *work, char **argv, int error_fd)
{
	bool is_sampler = group->event == EVENT_RUN;
	int stats_fd, err;

	seen->base_speed = measure_speed(work);
	stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	programs_init(&seen->programs);
	seen->start_ns = clock_now_ns();
	seen->pid = start_contender(argv, error_fd);
	err = wait_until_attached(seen, is_sampler);
	if (!err)
		observe_windows(seen, work, stats_fd);
	else
		close(stats_fd);
	seen->attached_ns = attached_ns(seen, is_sampler);
	return err;
}

/* Fills figures; or returns, to be freed, why there are none. */
static char *run_contender(const struct group *group, const struct price *price,
			   const struct work *work, char **argv, double figures[N_METRICS])
{
	struct observation seen = {};
	char *failure = NULL;
	struct rusage usage;
	FILE *errors = tmpfile();
	int status, err;

	err = observe_contender(&seen, group, work, argv, fileno(errors));
	figures[METRIC_BPF_NS] = net_ns_per_event(&seen, price, group->event);
	programs_close(&seen.programs);
	wait4(seen.pid, &status, 0, &usage);
	fill_figures(figures, &seen, &usage);
	if (err || status)
		failure = read_complaint(errors, status);
	fclose(errors);
	return failure;
}

/* ---- starting up ---- */

static uint64_t time_process(char **argv, int error_fd)
{
	uint64_t start_ns = clock_now_ns();
	pid_t pid = start_contender(argv, error_fd);

	waitpid(pid, NULL, 0);
	return clock_now_ns() - start_ns;
}

/*
 * From the start to the end of --help, which needs nothing but the executable and its libraries:
 * the fastest of some. The command of a binary of many tools begins with two words that matter.
 */
static double help_ms(char **argv)
{
	char help[] = "--help";
	const char *base = strrchr(argv[0], '/');
	bool has_two_words = base && !strcmp(base, "/tracelets");
	char *words[] = { argv[0], has_two_words ? argv[1] : help, has_two_words ? help : NULL,
			  NULL };
	int error_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	uint64_t best_ns = UINT64_MAX, ns;

	for (int i = 0; i < 7; i++) {
		ns = time_process(words, error_fd);
		best_ns = ns < best_ns ? ns : best_ns;
	}
	close(error_fd);
	return (double)best_ns / 1e6;
}

/* ---- rounds ---- */

static void run_round(const struct group *group, const struct contender *contender,
		      const struct price *price, const struct work *work, struct result *result)
{
	double figures[N_METRICS] = {};
	char *argv[MAX_ARGS];

	expand_command(contender->command, work, argv);
	figures[METRIC_BINARY_KB] = binary_size_kb(argv[0], &result->is_dynamic);
	free(result->failure);
	if (access(argv[0], X_OK)) {
		result->failure = mem_strdup("not installed");
	} else {
		figures[METRIC_HELP_MS] = help_ms(argv);
		result->failure = run_contender(group, price, work, argv, figures);
	}
	free_command(argv);
	if (result->failure)
		return;
	for (int i = 0; i < N_METRICS; i++)
		result->samples[i][result->n_rounds] = figures[i];
	result->n_rounds++;
}

static void find_medians(struct result *result)
{
	for (int i = 0; i < N_METRICS; i++)
		result->median[i] = median(result->samples[i], result->n_rounds);
}

/* All contenders in turn, so that what the machine does meanwhile falls on each of them. */
static int run_group(const struct group *group, int n_rounds, struct result *results)
{
	struct work work;
	int err = work_start(&work, group->work, WORK_CPU);

	for (int round = 0; !err && round < n_rounds; round++) {
		struct price price = {};

		err = measure_price(&price, group);
		for (int i = 0; !err && i < MAX_CONTENDERS; i++)
			if (group->contenders[i].command)
				run_round(group, &group->contenders[i], &price, &work, &results[i]);
	}
	work_stop(&work);
	for (int i = 0; i < MAX_CONTENDERS; i++)
		find_medians(&results[i]);
	return err;
}

/* ---- the table ---- */

static void print_header(const struct group *group)
{
	printf("\n%-22s", group->title);
	for (int i = 0; i < N_METRICS; i++)
		printf(" %10s", metrics[i].title);
	putchar('\n');
}

static void print_figures(const char *name, const struct result *result)
{
	printf("  %-20s", name);
	for (int i = 0; i < N_METRICS; i++)
		if (isnan(result->median[i]))
			printf(" %10s", "-");
		else
			printf(" %10.*f", metrics[i].decimals, result->median[i]);
	puts(result->is_dynamic ? " + shared libraries" : "");
}

/* A difference of two noisy speeds has no meaningful ratio. */
static bool has_ratio(const struct result *ours, const struct result *peer, int metric)
{
	return metric != METRIC_SLOWDOWN && !isnan(ours->median[metric]) &&
	       !isnan(peer->median[metric]);
}

static void print_ratios(const struct result *ours, const struct result *peer)
{
	printf("  %-20s", "  ours / it");
	for (int i = 0; i < N_METRICS; i++)
		if (has_ratio(ours, peer, i))
			printf(" %10.2f", ours->median[i] / peer->median[i]);
		else
			printf(" %10s", "");
	putchar('\n');
}

static void print_contender(const struct contender *contender, const struct result *ours,
			    const struct result *result)
{
	if (!result->n_rounds) {
		printf("  %-20s not available: %s\n", contender->name,
		       contender->unavailable ? contender->unavailable : result->failure);
		return;
	}
	print_figures(contender->name, result);
	if (result != ours)
		print_ratios(ours, result);
}

static void print_goals(const struct group *group, const struct result *results)
{
	for (const struct goal *goal = group->goals; goal->ratio > 0; goal++) {
		double ratio = results[0].median[goal->metric] / results[1].median[goal->metric];

		printf("  goal: %s at most %.1f of %s's: %.2f, %s\n", metrics[goal->metric].title,
		       goal->ratio, group->contenders[1].name, ratio,
		       ratio <= goal->ratio ? "met" : "missed");
	}
}

static void print_group(const struct group *group, const struct result *results)
{
	print_header(group);
	for (int i = 0; i < MAX_CONTENDERS && group->contenders[i].name; i++)
		print_contender(&group->contenders[i], &results[0], &results[i]);
	if (results[0].n_rounds && results[1].n_rounds)
		print_goals(group, results);
	fflush(stdout);
}

/* ---- JSON ---- */

static void write_string(FILE *f, const char *key, const char *text)
{
	fprintf(f, "\"%s\": \"", key);
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			fprintf(f, "\\%c", *text);
		else
			fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
	fputc('"', f);
}

static void write_figures(FILE *f, const struct result *result)
{
	fprintf(f, ", \"dynamic\": %s", result->is_dynamic ? "true" : "false");
	for (int i = 0; i < N_METRICS; i++)
		if (!isnan(result->median[i]))
			fprintf(f, ", \"%s\": %.3f", metrics[i].key, result->median[i]);
}

static void write_group(FILE *f, const struct group *group, const struct result *results)
{
	const struct contender *c = group->contenders;

	fputs("{ ", f);
	write_string(f, "question", group->title);
	fputs(", \"contenders\": [", f);
	for (int i = 0; i < MAX_CONTENDERS && c[i].name; i++) {
		fputs(i ? ",\n  { " : "\n  { ", f);
		write_string(f, "name", c[i].name);
		if (!results[i].n_rounds) {
			fputs(", ", f);
			write_string(f, "not_available",
				     c[i].unavailable ? c[i].unavailable : results[i].failure);
		} else {
			write_figures(f, &results[i]);
		}
		fputs(" }", f);
	}
	fputs("\n] }", f);
}

static void write_head(FILE *f, int n_rounds)
{
	struct utsname kernel;

	uname(&kernel);
	fputs("{ ", f);
	write_string(f, "kernel", kernel.release);
	fprintf(f, ", \"rounds\": %d, \"groups\": [\n", n_rounds);
}

static void free_results(struct result results[MAX_CONTENDERS])
{
	for (int i = 0; i < MAX_CONTENDERS; i++)
		free(results[i].failure);
}

/* BENCH_ONLY: how the titles of the groups begin that are wanted. */
static bool group_is_wanted(const struct group *group)
{
	const char *only = getenv("BENCH_ONLY");

	return !only || !strncmp(group->title, only, strlen(only));
}

static int run_all(FILE *json, int n_rounds)
{
	const char *comma = "";
	int err = 0;

	write_head(json, n_rounds);
	for (size_t i = 0; !err && i < ARRAY_SIZE(groups); i++) {
		static struct result results[MAX_CONTENDERS];

		if (!group_is_wanted(&groups[i]))
			continue;
		memset(results, 0, sizeof(results));
		err = run_group(&groups[i], n_rounds, results);
		print_group(&groups[i], results);
		fputs(comma, json);
		comma = ",\n";
		write_group(json, &groups[i], results);
		free_results(results);
	}
	fputs("\n] }\n", json);
	return err;
}

int main(int argc, char **argv)
{
	int n_rounds = argc == 5 ? atoi(argv[4]) : 5, err;
	FILE *json;

	msg_set_name("bench");
	if (argc < 4 || n_rounds < 1 || n_rounds > MAX_ROUNDS) {
		msg_error("usage: bench TOOLS SCRIPTS JSON [ROUNDS]");
		return 2;
	}
	tools_path = argv[1];
	scripts_path = argv[2];
	json = fopen(argv[3], "we");
	if (!json) {
		msg_errno(-errno, "opening %s", argv[3]);
		return 1;
	}
	work_pin(LOADER_CPU);
	err = run_all(json, n_rounds);
	fclose(json);
	return err ? 1 : 0;
}
