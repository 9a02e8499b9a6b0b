// SPDX-License-Identifier: GPL-2.0-only
/* Tests of /proc's states of processes. */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "process/procmaps.h"
#include "process/procstate.h"
#include "process/roots.h"
#include "child.h"
#include "unit.h"

static void end_at_once(void)
{
}

TEST(a_zombie_has_ended)
{
	pid_t pid = start_child_with(end_at_once);
	siginfo_t info;

	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	CHECK(process_has_ended(pid));
	waitpid(pid, NULL, 0);
	CHECK(process_has_ended(pid));
	CHECK(!process_has_ended(getpid()));
}

/* No more files can be opened then: what a parent knows of its children it knows all the same. */
TEST(a_process_that_cannot_be_asked_has_not_ended)
{
	pid_t pid = start_child_with(end_at_once);
	bool has_ended, child_has_ended;
	struct rlimit before, none;
	siginfo_t info;

	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	none = before;
	none.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	has_ended = process_has_ended(getpid());
	child_has_ended = process_has_ended(pid);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	CHECK(!has_ended);
	CHECK(child_has_ended);
	waitpid(pid, NULL, 0);
}

static void sleep_long(void)
{
	syscall(SYS_nanosleep, &(struct timespec){ .tv_sec = 1000 }, NULL);
}

TEST(the_call_of_a_waiting_thread_is_read)
{
	struct thread_call call = {};
	pid_t pid = start_child_with(sleep_long);
	bool may;

	while ((may = thread_call_read(&call, pid, pid)) && call.number != SYS_nanosleep)
		sched_yield();
	end_child(pid);
	if (!may)
		SKIP("calls of others can't be read");
	CHECK_EQ(call.abi, CALL_NATIVE);
	CHECK(call.is_off_cpu && call.sp && call.pc);
	CHECK_EQ(call.args[1], 0);
	CHECK(!thread_call_read(&call, pid, pid));
	CHECK_EQ(call.number, -2);
}

TEST(a_name_may_hold_newlines)
{
	static const char *const names[] = { "two\nlines\n", "\n", "" };
	char comm[64], before[64];

	prctl(PR_GET_NAME, before);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		prctl(PR_SET_NAME, names[i]);
		CHECK_EQ(process_comm(getpid(), comm, sizeof(comm)), 0);
		CHECK_STR(comm, names[i]);
	}
	prctl(PR_SET_NAME, before);
}

TEST(a_process_begins_when_it_is_forked)
{
	uint64_t before_ns = clock_wall_ns(), start_ns;
	pid_t pid = start_child();

	start_ns = process_start_unix_ns(pid);
	CHECK(start_ns + NS_PER_S > before_ns && start_ns < clock_wall_ns() + NS_PER_S);
	end_child(pid);
	CHECK_EQ(process_start_unix_ns(pid), 0);
}

TEST(all_processes_are_listed_once)
{
	pid_t child = start_child_with(end_at_once), *pids;
	size_t n, n_own = 0, n_children = 0;
	siginfo_t info;

	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	pids = process_list(&n);
	for (size_t i = 0; i < n; i++) {
		n_own += pids[i] == getpid();
		n_children += pids[i] == child;
	}
	CHECK_EQ(n_own, 1);
	CHECK_EQ(n_children, 1);
	free(pids);
	waitpid(child, NULL, 0);
}

static void *stay(void *arg)
{
	pause();
	return arg;
}

static void leave_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, stay, NULL);
	pthread_exit(NULL);
}

/* Other threads keep it alive; what /proc/PID does not tell any more, their folders do. */
TEST(a_thread_speaks_for_a_process_whose_main_thread_has_ended)
{
	pid_t pid = start_child_with(leave_threads), live;
	struct mappings maps;
	struct stat st;
	char path[40];
	int root;
	struct roots *roots = roots_new();

	while (stat_state(pid) != 'Z')
		usleep(1000);
	CHECK(!process_has_ended(pid));
	live = process_live_task(pid);
	CHECK(live != pid);
	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, live);
	CHECK(!stat(path, &st));
	CHECK_EQ(process_live_task(getpid()), getpid());
	CHECK_EQ(process_live_task(1 << 23), 1 << 23);
	CHECK_EQ(mappings_read(&maps, pid), 0);
	CHECK(mappings_find(&maps, (uintptr_t)end_at_once));
	root = roots_of(roots, pid);
	CHECK(root >= 0 && root_has_name(root, "proc"));
	mappings_free(&maps);
	roots_free(roots);
	end_child(pid);
}

static void take_odd_name(void)
{
	prctl(PR_SET_NAME, "a) Z (b");
	pause();
}

TEST(names_may_hold_anything)
{
	pid_t pid = start_child_with(take_odd_name);
	char comm[64] = "";

	for (int i = 0; i < 6000 && strcmp(comm, "a) Z (b"); i++) {
		usleep(10000);
		CHECK_EQ(process_comm(pid, comm, sizeof(comm)), 0);
	}
	CHECK(!strcmp(comm, "a) Z (b"));
	CHECK(!process_has_ended(pid));
	end_child(pid);
	CHECK(process_comm(pid, comm, sizeof(comm)) < 0);
}

static const char *schedstat_lacks(void)
{
	return access("/proc/self/schedstat", R_OK) ? "the kernel has no /proc/PID/schedstat"
						    : NULL;
}

TEST_UNLESS(schedstat_lacks, times_of_a_thread_grow)
{
	struct thread_times before, now;
	pid_t pid = getpid();

	CHECK(thread_times_read(&before, pid, pid));
	do {
		usleep(1000);
		CHECK(thread_times_read(&now, pid, pid));
	} while (now.arrivals == before.arrivals);
	CHECK(now.arrivals > before.arrivals);
	CHECK(now.ran_ns >= before.ran_ns && now.waited_ns >= before.waited_ns);
	CHECK(!thread_times_read(&now, 1 << 23, 1 << 23));
	CHECK(!now.ran_ns && !now.waited_ns && !now.arrivals);
}
