// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast symbols are, beside eu-addr2line and bpftrace: loading those of large files, looking
 * addresses up, and what naming the functions of a running program adds to a window of tracing. In
 * interleaved rounds, medians: on a noisy machine only the ratios within one run mean anything.
 * bpftrace and eu-addr2line have no command that only loads, so the one lists what it has loaded,
 * and the other looks up.
 *
 *	symbols O ROUNDS [files|processes]
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define ROUNDS_MAX 50
#define N_LOOKUPS  100 /* eu-addr2line goes through all symbols for each */
#define N_OURS	   4000000
#define WINDOW_MS  1000.0
#define STOP_MS	   3000	 /* until they are told to stop: bpftrace needs one of it to begin */
#define LIMIT_MS   30000 /* then it is given up, for this and all further rounds */
#define WORD_BYTES 64

struct sample {
	double ms, rss_mb;
};

struct contender {
	const char *name, *command; /* of sh -c; NULL: its figure is there already */
	double minus_ms;	    /* what it is meant to take */
	int stop_ms;		    /* then comes a SIGINT, and time counts from there; 0: no */
	const char *unit;	    /* its own figure's, which it prints; NULL: its time is taken */
	double goal;		    /* ours / it, at most; 0: none */
	struct sample samples[ROUNDS_MAX];
	int n;
	bool is_too_slow;
};

static double now_ms(void)
{
	return (double)clock_now_ns() / 1e6;
}

static pid_t start(const struct contender *c, int out)
{
	pid_t pid = fork();
	int null;

	if (pid)
		return pid;
	signal(SIGINT, SIG_DFL);
	null = open("/dev/null", O_RDWR);
	dup2(c->unit ? out : null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0); /* to be killed with what it starts */
	execl("/bin/sh", "sh", "-c", c->command, (char *)NULL);
	_exit(127);
}

/* Waits for its end; one that takes too long is killed, with all that it has started. */
static bool wait_for(struct contender *c, pid_t pid, struct rusage *usage)
{
	double limit_ms = now_ms() + LIMIT_MS;
	int status = 0;

	while (!wait4(pid, &status, WNOHANG, usage)) {
		usleep(200);
		if (now_ms() < limit_ms)
			continue;
		c->is_too_slow = true;
		kill(-pid, SIGKILL);
		wait4(pid, &status, 0, usage);
		return false;
	}
	return !status;
}

/* The number before the unit, in what it printed. */
static double read_figure(const char *unit, FILE *out)
{
	char word[WORD_BYTES], before[WORD_BYTES] = "";

	rewind(out);
	while (fscanf(out, "%63s", word) == 1) {
		if (!strcmp(word, unit))
			return strtod(before, NULL);
		memcpy(before, word, sizeof(before));
	}
	return 0;
}

static void run(struct contender *c)
{
	double start_ms = now_ms();
	FILE *out = tmpfile();
	pid_t pid = start(c, fileno(out));
	struct rusage usage;
	bool is_good;

	if (c->stop_ms) {
		usleep((useconds_t)c->stop_ms * 1000);
		start_ms = now_ms();
		kill(pid, SIGINT);
	}
	is_good = wait_for(c, pid, &usage);
	if (is_good)
		c->samples[c->n++] = (struct sample){
			.ms = c->unit ? read_figure(c->unit, out)
				      : now_ms() - start_ms - c->minus_ms,
			.rss_mb = (double)usage.ru_maxrss / 1024,
		};
	fclose(out);
}

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->ms > y->ms) - (x->ms < y->ms);
}

static struct sample median_of(struct contender *c)
{
	if (!c->n)
		return (struct sample){ 0, 0 };
	qsort(c->samples, (size_t)c->n, sizeof(*c->samples), compare_samples);
	return c->samples[c->n / 2];
}

static void print_contender(const struct contender *c, const struct sample *its,
			    const struct sample *ours)
{
	double ratio = ours->ms / its->ms;

	if (c->is_too_slow)
		printf("  %-42s more than %d s\n", c->name, LIMIT_MS / 1000);
	else if (!c->n)
		printf("  %-42s not available\n", c->name);
	else
		printf("  %-42s %10.3f %10.1f %10.2f\n", c->name, its->ms, its->rss_mb, ratio);
	if (c->goal > 0 && c->n)
		printf("  goal: at most %.1f of %s's: %.2f, %s\n", c->goal, c->name, ratio,
		       ratio <= c->goal ? "met" : "missed");
}

/* The first is ours. */
static void run_group(const char *title, struct contender *c, size_t n, int n_rounds)
{
	struct sample ours, its;

	for (int round = 0; round < n_rounds; round++)
		for (size_t i = 0; i < n; i++)
			if (c[i].command && !c[i].is_too_slow)
				run(&c[i]);
	printf("\n%-44s %10s %10s %10s\n", title, c[0].unit ? c[0].unit : "ms", "RSS MB",
	       "ours / it");
	ours = median_of(&c[0]);
	for (size_t i = 0; i < n; i++) {
		its = median_of(&c[i]);
		print_contender(&c[i], &its, &ours);
	}
	fflush(stdout);
}

/* All symbols, without the time that a process takes to begin and to end. */
static void bench_loading(const char *out, const char *path, const char *base, int n_rounds)
{
	char *title = mem_printf("%s: loading its symbols", base);
	char *ours = mem_printf("exec %s/tests/symbols/compare -t '%s' 1", out, path);
	char *listed = mem_printf("exec bpftrace -l 'uprobe:%s:*'", path);
	struct contender c[] = {
		{ .name = "tracelets", .command = ours, .unit = "ms" },
		{ .name = "tracelets, with its process", .command = ours },
		{ .name = "bpftrace, listing them", .command = listed },
	};

	run_group(title, c, 3, n_rounds);
	free(title);
	free(ours);
	free(listed);
}

/* A process with one name to find, or with many; the time that eu-addr2line takes. */
static double bench_names(const char *out, const char *path, const char *base, int n_names,
			  int n_rounds)
{
	char *title = mem_printf("%s: %d name%s", base, n_names, n_names == 1 ? "" : "s");
	char *ours = mem_printf("exec %s/tests/symbols/compare -t '%s' %d", out, path, n_names);
	char *theirs = mem_printf("seq 1000000 2570 %d | sed s/^/0x/ | eu-addr2line -S -e '%s'",
				  1000000 + 2570 * (n_names - 1), path);
	struct contender c[] = { { .name = "tracelets", .command = ours },
				 { .name = "eu-addr2line", .command = theirs } };

	run_group(title, c, 2, n_rounds);
	free(title);
	free(ours);
	free(theirs);
	return median_of(&c[1]).ms;
}

/* Once a process has begun and its symbols are loaded. theirs_ms: of one name for eu-addr2line. */
static void bench_lookups(const char *out, const char *path, const char *base, double theirs_ms,
			  int n_rounds)
{
	char *title = mem_printf("%s: names by the second", base);
	char *ours = mem_printf("exec %s/tests/symbols/compare -t '%s' %d", out, path, N_OURS);
	struct contender c[] = {
		{ .name = "tracelets", .command = ours, .unit = "Mlookups/s" },
		{ .name = "eu-addr2line", .samples = { { 1e-3 / theirs_ms, 0 } }, .n = 1 },
	};

	run_group(title, c, theirs_ms > 0 ? 2 : 1, n_rounds);
	free(title);
	free(ours);
}

static void bench_file(const char *out, const char *path, int n_rounds)
{
	const char *base = strrchr(path, '/') + 1;
	double one_ms, many_ms;

	if (access(path, R_OK))
		return;
	bench_loading(out, path, base, n_rounds);
	one_ms = bench_names(out, path, base, 1, n_rounds);
	many_ms = bench_names(out, path, base, N_LOOKUPS, n_rounds);
	bench_lookups(out, path, base, (many_ms - one_ms) / (N_LOOKUPS - 1), n_rounds);
}

static pid_t start_node(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execlp("node", "node", "-e",
	       "for(;;) { JSON.stringify(JSON.parse('{\"a\":[1,2,3,\"x\"]}')) }", (char *)NULL);
	_exit(127);
}

/* Measures what a window of one second takes beyond that, on a program with 79,000 functions. */
static void bench_process(const char *out, int n_rounds)
{
	pid_t pid = start_node();
	char *ours = mem_printf("exec %s/profile -U -p %d 1", out, pid);
	char *theirs =
		mem_printf("exec bpftrace -e 'profile:hz:99 /pid == %d/ { @[ustack] = count(); } "
			   "interval:s:1 { exit(); }'",
			   pid);
	struct contender c[] = {
		{ .name = "profile", .command = ours, .minus_ms = WINDOW_MS },
		{ .name = "bpftrace", .command = theirs, .minus_ms = WINDOW_MS },
	};

	usleep(500000);
	run_group("node's functions: beyond a window of 1 s", c, 2, n_rounds);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(ours);
	free(theirs);
}

static pid_t start_many(const char *out)
{
	char *command = mem_printf("exec %s/lab/bench/many %s/lab/bench/many-*.so", out, out);
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	free(command);
	return pid;
}

/* From the end of the window to that of the tool, on a program with 60 libraries. */
static void bench_many(const char *out, int n_rounds)
{
	pid_t pid = start_many(out);
	char *profile = mem_printf("exec %s/profile --unwind fp -p %d", out, pid);
	char *profile_bt = mem_printf("exec bpftrace -e 'profile:hz:99 /pid == %d/ "
				      "{ @[comm, kstack, ustack] = count(); }'",
				      pid);
	char *offcputime = mem_printf("exec %s/offcputime --unwind fp -p %d", out, pid);
	char *theirs = mem_printf("exec /usr/sbin/offcputime -p %d", pid);
	char *complete = mem_printf("exec %s/profile -p %d", out, pid);
	struct contender profiles[] = {
		{ .name = "profile", .command = profile, .stop_ms = STOP_MS },
		{ .name = "bpftrace", .command = profile_bt, .stop_ms = STOP_MS, .goal = 0.3 },
		{ .name = "profile, complete stacks", .command = complete, .stop_ms = STOP_MS },
	};
	struct contender blocked[] = {
		{ .name = "offcputime", .command = offcputime, .stop_ms = STOP_MS },
		{ .name = "libbpf-tools' offcputime",
		  .command = theirs,
		  .stop_ms = STOP_MS,
		  .goal = 0.5 },
	};

	usleep(500000);
	run_group("60 libraries: from SIGINT to the end", profiles, 3, n_rounds);
	run_group("60 libraries, blocked: from SIGINT to the end", blocked, 2, n_rounds);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(profile);
	free(profile_bt);
	free(offcputime);
	free(theirs);
	free(complete);
}

int main(int argc, char **argv)
{
	int n_rounds = argc > 2 ? atoi(argv[2]) : 5;
	bool files = argc < 4 || !strcmp(argv[3], "files");
	bool processes = argc < 4 || !strcmp(argv[3], "processes");

	if (argc < 2 || n_rounds < 1 || n_rounds > ROUNDS_MAX)
		return 2;
	if (files) {
		bench_file(argv[1], "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", n_rounds);
		bench_file(argv[1], "/usr/bin/node", n_rounds);
		bench_file(argv[1], "/usr/lib/x86_64-linux-gnu/libc.so.6", n_rounds);
	}
	if (processes) {
		bench_many(argv[1], n_rounds);
		bench_process(argv[1], n_rounds);
	}
	return 0;
}
