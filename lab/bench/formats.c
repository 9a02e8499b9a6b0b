// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a million folded lines take to become a picture, and how much memory, beside
 * flamegraph.pl where that is installed. A line is 20 frames deep; each function calls four others,
 * some far more often, so nearly all lines differ. In interleaved rounds, medians.
 *
 *	formats O [ROUNDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "median.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"

#define N_LINES	    1000000
#define DEPTH	    20
#define N_FUNCTIONS 3001
#define MAX_ROUNDS  50

enum figure { WALL_S, CPU_S, PEAK_MB, N_FIGURES };

struct contender {
	const char *name;
	const char *paths[3]; /* the first that is there */
	double figures[N_FIGURES][MAX_ROUNDS];
	int n;
};

/* The same lines in every run. */
static void write_lines(FILE *f)
{
	uint64_t seed = 1;

	for (int line = 0; line < N_LINES; line++) {
		uint64_t function = 0;

		fputs("app", f);
		for (int depth = 1; depth < DEPTH; depth++) {
			int chance = (int)((seed = seed * 16807 % 2147483647) % 100);

			function =
				function * 4 + 1 + (chance >= 60) + (chance >= 85) + (chance >= 97);
			function %= N_FUNCTIONS;
			fprintf(f, ";ns::function_%d", (int)function);
		}
		fprintf(f, " %d\n", 1 + (int)(seed % 7));
	}
}

static const char *find_program(const struct contender *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->paths) && c->paths[i]; i++)
		if (!access(c->paths[i], X_OK))
			return c->paths[i];
	return NULL;
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void draw(const char *program, const char *lines)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execl(program, program, lines, (char *)NULL);
	_exit(127);
}

static int run(struct contender *c, const char *lines)
{
	uint64_t start_ns = clock_now_ns();
	struct rusage usage;
	pid_t pid;
	int status;

	pid = fork();
	if (!pid)
		draw(find_program(c), lines);
	if (wait4(pid, &status, 0, &usage) < 0 || status) {
		fprintf(stderr, "bench: %s failed\n", c->name);
		return 1;
	}
	c->figures[WALL_S][c->n] = (double)(clock_now_ns() - start_ns) / 1e9;
	c->figures[CPU_S][c->n] = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
	c->figures[PEAK_MB][c->n] = (double)usage.ru_maxrss / 1024;
	c->n++;
	return 0;
}

/* Behind the figures of another, what share of them ours are. */
static void print(struct contender *c, double ours[N_FIGURES])
{
	if (!c->n) {
		printf("  %-42s not installed (make bench-deps)\n", c->name);
		return;
	}
	printf("  %-42s", c->name);
	for (int i = 0; i < N_FIGURES; i++) {
		double figure = median(c->figures[i], c->n);

		ours[i] = ours[i] > 0 ? ours[i] : figure;
		printf(" %9.2f (%.2f)", figure, ours[i] / figure);
	}
	putchar('\n');
}

static int run_all(struct contender *contenders, size_t n, const char *lines, int n_rounds)
{
	double ours[N_FIGURES] = {};
	int err = 0;

	for (int round = 0; round < n_rounds && !err; round++)
		for (size_t i = 0; i < n && !err; i++)
			err = find_program(&contenders[i]) ? run(&contenders[i], lines) : 0;
	if (err)
		return err;
	printf("\n%-44s %16s %16s %16s\n", "1 M folded lines to SVG (ours / it)", "seconds",
	       "CPU s", "peak MB");
	for (size_t i = 0; i < n; i++)
		print(&contenders[i], ours);
	return 0;
}

static FILE *make_file(char *path)
{
	int fd = mkstemp(path);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/bench.XXXXXX";
	struct contender contenders[] = {
		{ .name = "flame", .paths = { argc > 1 ? mem_printf("%s/flame", argv[1]) : NULL } },
		{ .name = "flamegraph.pl",
		  .paths = { "/usr/bin/flamegraph.pl", "/usr/local/bin/flamegraph.pl",
			     "/usr/share/perl5/Devel/NYTProf/flamegraph.pl" } },
	};
	int n_rounds = argc > 2 ? atoi(argv[2]) : 1, err;
	FILE *f;

	if (argc < 2 || n_rounds < 1 || n_rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: formats O [ROUNDS]\n");
		return 2;
	}
	f = make_file(path);
	if (!f) {
		fprintf(stderr, "bench: %s: %s\n", path, strerror(errno));
		return 1;
	}
	write_lines(f);
	err = fclose(f) ? 1 : run_all(contenders, ARRAY_SIZE(contenders), path, n_rounds);
	unlink(path);
	free((char *)contenders[0].paths[0]);
	return err;
}
