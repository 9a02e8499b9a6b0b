// SPDX-License-Identifier: GPL-2.0-only
/*
 * brief COUNT LANES [PROGRAM]: starts COUNT short-lived processes, at most LANES in parallel. They
 * run PROGRAM or brief itself, without arguments, or with "copies" a copy of brief each, which is
 * deleted soon after. Without arguments, brief computes and sleeps for 1 to 2 ms. Prints how many
 * exited with status 0. Built without frame pointers.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "work.h"

#define WORK_NS (1100 * 1000ULL)
#define COPIES	64 /* existing copies */

static volatile uint64_t sink, nap_ns = 300 * 1000; /* volatile: functions aren't specialized */

WORK_FUNCTION void brief_leaf(uint64_t until_ns)
{
	while (work_clock(CLOCK_MONOTONIC) < until_ns)
		for (int i = 0; i < 1000; i++)
			sink += (uint64_t)i;
	work_sleep(nap_ns);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void brief_middle(uint64_t until_ns)
{
	brief_leaf(until_ns);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void brief_outer(void)
{
	brief_middle(work_clock(CLOCK_MONOTONIC) + WORK_NS);
	WORK_KEEP_FRAME();
}

/* Starts a process, whose comm is the file's name. */
static void start_one(char *const argv[])
{
	pid_t pid = vfork();

	if (pid)
		return;
	execv(argv[0], argv);
	_exit(127);
}

static void copy_self(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	struct stat st = {};

	fstat(from, &st);
	if (sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size)
		exit(1);
	close(from);
	close(to);
}

/* Returns the path of copy i. */
static char *copy_path(int i)
{
	static char folder[] = "/tmp/brief-XXXXXX", path[64];

	if (!*path && !mkdtemp(folder))
		exit(1);
	snprintf(path, sizeof(path), "%s/%d/brief", folder, i);
	return path;
}

static void remove_copy(int i)
{
	char *path = copy_path(i);

	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

/* Starts copy i. Its file remains until COPIES more are started, so that a tracer can open it. */
static void start_copy(int i)
{
	char *path = copy_path(i), *const argv[] = { path, NULL }, *name = strrchr(path, '/');

	*name = '\0';
	mkdir(path, 0700);
	*name = '/';
	copy_self(path);
	start_one(argv);
	if (i >= COPIES)
		remove_copy(i - COPIES);
}

static void run_all(int n, int lanes, char *program)
{
	char *const argv[] = { program, NULL };
	int n_running = 0, n_good = 0, status;
	bool has_copies = !strcmp(program, "copies");

	for (int i = 0; i < n || n_running; n_running--) {
		for (; i < n && n_running < lanes; i++, n_running++)
			has_copies ? start_copy(i) : start_one(argv);
		if (wait(&status) < 0)
			break;
		n_good += !status;
	}
	for (int i = n - COPIES; has_copies && i < n; i++)
		remove_copy(i);
	work_say("ended", (uint64_t)n_good);
}

static char *own_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return n < 0 ? NULL : path;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		brief_outer();
		return 0;
	}
	work_set_comm("starter");
	work_wait_go();
	run_all(work_number(argc, argv, 1, 1), work_number(argc, argv, 2, 1),
		argc > 3 ? argv[3] : own_path());
	work_wait_end();
	return 0;
}
