// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast symbols are, beside eu-addr2line and bpftrace: loading those of large files, looking
 * addresses up, and what naming the functions of a running program adds to a window of tracing. In
 * interleaved rounds, medians: on a noisy machine only the ratios within one run mean anything.
 *
 *	bench O ROUNDS
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
#include <time.h>
#include <unistd.h>

#include "../../common/mem.h"

#define ROUNDS_MAX 50
#define N_LOOKUPS  100 /* eu-addr2line goes through all symbols for each */
#define WINDOW_MS  1000.0
#define STOP_MS	   3000 /* until they are told to stop: bpftrace needs one of it to begin */

struct sample {
	double ms, rss_mb;
};

struct contender {
	const char *name, *command; /* of sh -c */
	double minus_ms;	    /* what it is meant to take */
	int stop_ms;		    /* then comes a SIGINT, and time counts from there; 0: no */
	struct sample samples[ROUNDS_MAX];
	int n;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void run(struct contender *c)
{
	double start_ms = now_ms();
	struct rusage usage;
	int status, null;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGINT, SIG_DFL);
		null = open("/dev/null", O_RDWR);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl("/bin/sh", "sh", "-c", c->command, (char *)NULL);
		_exit(127);
	}
	if (c->stop_ms) {
		usleep((useconds_t)c->stop_ms * 1000);
		start_ms = now_ms();
		kill(pid, SIGINT);
	}
	if (wait4(pid, &status, 0, &usage) < 0 || status)
		return;
	c->samples[c->n++] = (struct sample){ .ms = now_ms() - start_ms - c->minus_ms,
					      .rss_mb = (double)usage.ru_maxrss / 1024 };
}

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->ms > y->ms) - (x->ms < y->ms);
}

static double median_ms(struct contender *c)
{
	qsort(c->samples, (size_t)c->n, sizeof(*c->samples), compare_samples);
	return c->samples[c->n / 2].ms;
}

/* The first is ours. */
static void run_group(const char *title, struct contender *c, size_t n, int n_rounds)
{
	double ours = 0;

	for (int round = 0; round < n_rounds; round++)
		for (size_t i = 0; i < n; i++)
			run(&c[i]);
	printf("\n%-44s %10s %10s %10s\n", title, "ms", "RSS MB", "ours / it");
	for (size_t i = 0; i < n; i++) {
		double ms = c[i].n ? median_ms(&c[i]) : 0;

		ours = i ? ours : ms;
		if (!c[i].n)
			printf("  %-42s not available\n", c[i].name);
		else
			printf("  %-42s %10.1f %10.1f %10.2f\n", c[i].name, ms,
			       c[i].samples[c[i].n / 2].rss_mb, ours / ms);
	}
	fflush(stdout);
}

/* Starting, loading and one address; then many of them. */
static void bench_file(const char *out, const char *path, int n_rounds)
{
	char *load = mem_printf("%s/tests/symbols/compare -t '%s' 1", out, path);
	char *find = mem_printf("%s/tests/symbols/compare -t '%s' %d", out, path, N_LOOKUPS);
	char *their_load = mem_printf("eu-addr2line -S -e '%s' 0x1000000", path);
	char *their_find = mem_printf("seq 1000000 2570 %d | sed s/^/0x/ | eu-addr2line -S -e '%s'",
				      1000000 + 2570 * N_LOOKUPS, path);
	struct contender loads[] = { { .name = "tracelets", .command = load },
				     { .name = "eu-addr2line", .command = their_load } };
	struct contender finds[] = { { .name = "tracelets", .command = find },
				     { .name = "eu-addr2line", .command = their_find } };
	char *title = mem_printf("%s: one name", strrchr(path, '/') + 1);
	char *many = mem_printf("%s: %d names", strrchr(path, '/') + 1, N_LOOKUPS);

	if (access(path, R_OK))
		return;
	run_group(title, loads, 2, n_rounds);
	run_group(many, finds, 2, n_rounds);
	free(load);
	free(find);
	free(their_load);
	free(their_find);
	free(title);
	free(many);
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

/* What a window of a second takes beyond it, on a program with 79,000 functions. */
static void bench_process(const char *out, int n_rounds)
{
	pid_t pid = start_node();
	char *ours = mem_printf("%s/profile -U -p %d 1", out, pid);
	char *theirs = mem_printf("bpftrace -e 'profile:hz:99 /pid == %d/ { @[ustack] = count(); } "
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
	char *command =
		mem_printf("exec %s/tests/symbols/many %s/tests/symbols/many-*.so", out, out);
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
		{ .name = "bpftrace", .command = profile_bt, .stop_ms = STOP_MS },
		{ .name = "profile, complete stacks", .command = complete, .stop_ms = STOP_MS },
	};
	struct contender blocked[] = {
		{ .name = "offcputime", .command = offcputime, .stop_ms = STOP_MS },
		{ .name = "libbpf-tools' offcputime", .command = theirs, .stop_ms = STOP_MS },
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

	if (argc < 2 || n_rounds < 1 || n_rounds > ROUNDS_MAX)
		return 2;
	bench_file(argv[1], "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", n_rounds);
	bench_file(argv[1], "/usr/bin/node", n_rounds);
	bench_file(argv[1], "/usr/lib/x86_64-linux-gnu/libc.so.6", n_rounds);
	bench_process(argv[1], n_rounds);
	bench_many(argv[1], n_rounds);
	return 0;
}
