// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many of a kind, for what a tool costs by how many there are:
 *
 *	town processes N FOLDER   N processes of the programs in FOLDER, which map its libraries
 *	town threads N            one process with N threads besides
 *	town stacks N             naps once in each of N different stacks
 *	town frames N             naps with N functions on the stack
 *
 * All but the third nap without end, 2,000 times a second together, so that what is measured by
 * event doesn't depend on how busy the machine is. Threads begin when they may go: before, each
 * waits in wait_for_start(). FOLDER has copies of this program (program-1
 * and so on) and libraries (library-1 and so on).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "../../tests/work/work.h"

#define PROGRAMS     50
#define SHARED	     50 /* libraries from which each program has some neighbours */
#define OWN	     4	/* libraries that no other program has */
#define NEIGHBOURS   10
#define NAP_NS	     (NS_PER_S / 2000) /* times how many nap at once */
#define BLOCK_NS     10000 /* after a shorter time a thread wakes up before it has left its CPU */
#define THREAD_BYTES (64 << 10)

WORK_FUNCTION void nap(uint64_t ns)
{
	work_sleep(ns);
	WORK_KEEP_FRAME();
}

static volatile bool goes_on = true; /* so that compilers don't complain of what never ends */

static void nap_for_ever(int n)
{
	while (goes_on)
		nap(NAP_NS * (uint64_t)n);
}

/* ---- processes ---- */

static void load_library(const char *folder, int number)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/library-%d.so", folder, number);
	if (!dlopen(path, RTLD_LAZY)) {
		fprintf(stderr, "town: %s\n", dlerror());
		exit(1);
	}
}

/* One of so many: says on its standard output that it has what it needs. */
static int reside(const char *folder, int index, int n)
{
	int program = index % PROGRAMS;

	for (int i = 0; i < NEIGHBOURS; i++)
		load_library(folder, 1 + (program + i) % SHARED);
	for (int i = 0; i < OWN; i++)
		load_library(folder, 1 + SHARED + program * OWN + i);
	if (write(STDOUT_FILENO, "x", 1) != 1)
		return 1;
	nap_for_ever(n);
	return 0;
}

static void start_resident(const char *folder, int index, const char *n, int ready_fd)
{
	char path[256], number[16];

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(ready_fd, STDOUT_FILENO);
	snprintf(path, sizeof(path), "%s/program-%d", folder, 1 + index % PROGRAMS);
	snprintf(number, sizeof(number), "%d", index);
	execl(path, path, "reside", folder, number, n, NULL);
	_exit(127);
}

/* All of this process's group end with it. */
static int run_processes(int n, const char *number, const char *folder)
{
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		return 1;
	for (int i = 0; i < n; i++)
		start_resident(folder, i, number, ready[1]);
	close(ready[1]);
	for (int i = 0; i < n; i++)
		if (read(ready[0], &byte, 1) != 1)
			return 1;
	work_wait_go();
	work_wait_end();
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}

/* ---- threads ---- */

static pthread_barrier_t start;

WORK_FUNCTION void wait_for_start(void)
{
	pthread_barrier_wait(&start);
	WORK_KEEP_FRAME();
}

struct napper {
	int index, n;
};

/* The first naps differ, so that later ones are spread evenly. */
static void *run_thread(void *arg)
{
	const struct napper *napper = arg;

	wait_for_start();
	nap(NAP_NS * (uint64_t)napper->index);
	nap_for_ever(napper->n);
	return NULL;
}

static int run_threads(int n)
{
	struct napper *nappers = calloc((size_t)n, sizeof(*nappers));
	pthread_attr_t attr;
	pthread_t thread;

	pthread_barrier_init(&start, NULL, (unsigned int)n + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_BYTES);
	for (int i = 0; i < n; i++) {
		nappers[i] = (struct napper){ i, n };
		if (pthread_create(&thread, &attr, run_thread, &nappers[i]))
			return 1;
	}
	work_wait_go();
	wait_for_start();
	work_wait_end();
	return 0;
}

/* ---- stacks ---- */

WORK_FUNCTION void turn_left(uint64_t path, int depth);
WORK_FUNCTION void turn_right(uint64_t path, int depth);

/* Each bit of the path is a choice between two functions. */
static inline void turn(uint64_t path, int depth)
{
	if (!depth)
		nap(BLOCK_NS);
	else if (path & 1)
		turn_left(path >> 1, depth - 1);
	else
		turn_right(path >> 1, depth - 1);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void turn_left(uint64_t path, int depth)
{
	turn(path, depth);
}

WORK_FUNCTION void turn_right(uint64_t path, int depth)
{
	turn(path, depth);
	WORK_KEEP_FRAME();
}

static int run_stacks(int n)
{
	int depth = 1;

	while (1 << depth < n)
		depth++;
	prctl(PR_SET_TIMERSLACK, 1);
	work_wait_go();
	for (int i = 0; i < n; i++)
		turn((uint64_t)i, depth);
	work_wait_end();
	return 0;
}

/* ---- frames ---- */

WORK_FUNCTION void descend(int depth)
{
	if (depth)
		descend(depth - 1);
	else
		nap_for_ever(1);
	WORK_KEEP_FRAME();
}

static void *run_deep(void *arg)
{
	wait_for_start();
	descend(*(int *)arg);
	return NULL;
}

static int run_frames(int n)
{
	pthread_t thread;

	pthread_barrier_init(&start, NULL, 2);
	if (pthread_create(&thread, NULL, run_deep, &n))
		return 1;
	work_wait_go();
	wait_for_start();
	work_wait_end();
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int n = work_number(argc, argv, 2, 1);

	if (!strcmp(what, "reside") && argc > 4)
		return reside(argv[2], atoi(argv[3]), atoi(argv[4]));
	if (!strcmp(what, "processes") && argc > 3)
		return run_processes(n, argv[2], argv[3]);
	if (!strcmp(what, "threads"))
		return run_threads(n);
	if (!strcmp(what, "stacks"))
		return run_stacks(n);
	if (!strcmp(what, "frames"))
		return run_frames(n);
	fprintf(stderr, "usage: town processes|threads|stacks|frames N [FOLDER]\n");
	return 2;
}
