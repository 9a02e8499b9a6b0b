// SPDX-License-Identifier: GPL-2.0-only
/* Memory, page faults and threads of processes. */
#include <pthread.h>
#include <sched.h>

#include "process/process_usage.h"
#include "child.h"
#include "unit.h"

#define PAGES 1000

static void touch_pages(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	CHECK(memory != MAP_FAILED && !madvise(memory, PAGES * page, MADV_NOHUGEPAGE));
	for (size_t i = 0; i < PAGES; i++)
		memory[i * page] = 1;
	munmap(memory, PAGES * page);
}

/* Returns the number of faults in a text; -1: no text, which is freed. */
static int faults_of(char *text)
{
	const char *at = text ? strstr(text, "page faults: ") : NULL;
	int faults = at ? atoi(at + strlen("page faults: ")) : -1;

	free(text);
	return faults;
}

static int is_ready[2];

static void touch_and_wait(void)
{
	for (int i = 0; i < 10; i++)
		touch_pages();
	(void)!write(is_ready[1], "x", 1);
	sleep_for_ever();
}

TEST(faults_of_the_window_are_counted)
{
	pid_t pid = getpid();
	struct process_usage before = process_usage_read(&pid, 1), now;
	char *text;
	int faults;

	touch_pages();
	now = process_usage_read(&pid, 1);
	CHECK_EQ(now.n_threads, 1);
	text = process_usage_describe(&before, &now, true);
	CHECK_HAS(text, "MiB (");
	free(text);
	faults = faults_of(process_usage_describe(&before, &now, true));
	process_usage_free(&before);
	process_usage_free(&now);
	CHECK(faults >= PAGES && faults < 9 * PAGES);
}

/* The child has more faults than the test has in between. */
TEST(a_process_that_comes_or_goes_does_not_count)
{
	struct process_usage one, both;
	int comes, goes;
	pid_t pids[2];
	char c, *text;

	CHECK_EQ(pipe(is_ready), 0);
	pids[0] = getpid();
	pids[1] = start_child_with(touch_and_wait);
	CHECK_EQ(read(is_ready[0], &c, 1), 1);
	one = process_usage_read(pids, 1);
	both = process_usage_read(pids, 2);
	end_child(pids[1]);
	text = process_usage_describe(&one, &both, true);
	CHECK(text && !strstr(text, "MiB ("));
	comes = faults_of(text);
	goes = faults_of(process_usage_describe(&both, &one, true));
	process_usage_free(&one);
	process_usage_free(&both);
	close(is_ready[0]);
	close(is_ready[1]);
	CHECK(comes >= 0 && comes < PAGES);
	CHECK(goes == -1 || goes < PAGES);
}

static pthread_barrier_t both_run;

static void *compute_and_wait(void *arg)
{
	uint64_t end_ns;

	pthread_barrier_wait(&both_run);
	end_ns = clock_thread_ns() + 30 * NS_PER_MS;
	while (clock_thread_ns() < end_ns)
		;
	(void)!write(is_ready[1], "x", 1);
	pause();
	return arg;
}

/* Two threads that begin after the first moment, on one CPU. */
TEST(waits_of_new_threads_count)
{
	pid_t pid = getpid();
	struct process_usage before = process_usage_read(&pid, 1), now;
	pthread_t threads[2];
	cpu_set_t one;
	char c;

	CHECK_EQ(pipe(is_ready), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	pthread_barrier_init(&both_run, NULL, 2);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, compute_and_wait, NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(read(is_ready[0], &c, 1), 1);
	now = process_usage_read(&pid, 1);
	CHECK(process_usage_waited_ns(&before, &now) > 20 * NS_PER_MS);
	process_usage_free(&before);
	process_usage_free(&now);
	close(is_ready[0]);
	close(is_ready[1]);
}
