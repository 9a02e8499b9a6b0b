// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the kernel's events of processes: children here cause them, and they are seen or not. */
#include <pthread.h>
#include <sys/syscall.h>

#include "child.h"
#include "silent.h"
#include "process/watch.h"
#include "unit.h"

/* How often what was seen of the child, and in which order the first time. */
struct seen {
	pid_t child;
	int n_forked, n_changed, n_exited, n_lost, n_drained, step;
	int forked_at, executed_at, exited_at;
};

static void on_forked(pid_t parent, pid_t child, void *arg)
{
	struct seen *seen = arg;

	if (parent != getpid() || (seen->child && child != seen->child))
		return;
	seen->child = child;
	seen->n_forked++;
	seen->forked_at = ++seen->step;
}

static void on_executed(pid_t pid, void *arg)
{
	struct seen *seen = arg;

	if (pid == seen->child)
		seen->executed_at = ++seen->step;
}

static void on_changed(pid_t pid, void *arg)
{
	struct seen *seen = arg;

	seen->n_changed += pid == seen->child || pid == getpid();
}

static void on_exited(pid_t pid, void *arg)
{
	struct seen *seen = arg;

	if (pid != seen->child)
		return;
	seen->n_exited++;
	seen->exited_at = ++seen->step;
}

static void on_lost(void *arg)
{
	((struct seen *)arg)->n_lost++;
}

static void on_drained(void *arg)
{
	((struct seen *)arg)->n_drained++;
}

static struct seen seen;
static struct watch *watch;

static void open_watch(void)
{
	const struct watch_handlers handlers = { on_forked, on_executed, on_changed, on_exited,
						 on_lost,   on_drained,	 &seen };

	SAID(watch = watch_new(&(struct processes_options){ .max_mappings = 1 << 16 }));
	seen = (struct seen){};
	if (watch)
		watch_subscribe(watch, &handlers);
}

/* Begins anew, as where others have filled the rings. */
static void reopen_watch(void)
{
	watch_free(watch);
	open_watch();
}

AFTER_EACH()
{
	watch_free(watch);
	watch = NULL;
}

static const char *watch_lacks(void)
{
	reopen_watch();
	return watch ? NULL : "may not watch all CPUs";
}

static void map_code(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(code, 4096);
}

static void fill_ring(void)
{
	for (int i = 0; i < 10000; i++)
		map_code();
}

/* Runs a child that may map code, execute something, or have a thread. */
static pid_t run_child(bool maps, const char *path)
{
	char *const argv[] = { (char *)path, NULL };
	pid_t pid = fork();

	if (pid) {
		waitpid(pid, NULL, 0);
		return pid;
	}
	if (maps)
		map_code();
	if (path)
		execv(path, argv);
	_exit(0);
}

/* Reads what was seen of a child; again if others have filled the rings meanwhile. */
static pid_t watch_child(bool maps, const char *path)
{
	pid_t child;

	do {
		reopen_watch();
		child = run_child(maps, path);
		watch_read(watch);
	} while (seen.n_lost);
	return child;
}

/* A CPU's events are in order; those of the child may be on another one than the fork. */
static void stay_on_one_cpu(void)
{
	go_to_cpu(sched_getcpu());
}

TEST_UNLESS(watch_lacks, fork_and_exit_are_seen_in_order)
{
	pid_t child;

	stay_on_one_cpu();
	child = watch_child(false, NULL);
	CHECK_EQ(seen.child, child);
	CHECK_EQ(seen.n_forked, 1);
	CHECK_EQ(seen.n_changed, 0);
	CHECK_EQ(seen.n_exited, 1);
	CHECK(seen.forked_at < seen.exited_at);
	CHECK_EQ(seen.n_drained, 1);
}

static int thread_go[2];

static void *wait_for_go(void *arg)
{
	char byte;

	return read(thread_go[0], &byte, 1) == 1 ? arg : NULL;
}

static void leave_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_go, NULL);
	syscall(SYS_exit, 0);
}

/* Until a process is a zombie, which may have threads; or gone, which a check will say. */
static void wait_for_main_thread(pid_t pid)
{
	while (!strchr("Z-", stat_state(pid)))
		usleep(1000);
}

static void read_mappings(pid_t pid)
{
	maps_release(processes_read(watch_processes(watch), pid, clock_now_ns()));
}

/* Knowledge of a process when its main thread ends. */
enum known {
	NUMBER_OF_THREADS,
	MAPPINGS,     /* it was there before, and was read */
	NOTHING_THEN, /* and it is read afterwards */
};

/* Returns how many events were lost. */
static int check_last_thread(enum known known)
{
	pid_t child = known == MAPPINGS ? start_child_with(leave_thread) : 0;

	reopen_watch();
	seen.child = child;
	if (known != NOTHING_THEN)
		read_mappings(child ? child : getpid());
	if (!child)
		child = start_child_with(leave_thread);
	wait_for_main_thread(child);
	if (known == NOTHING_THEN)
		read_mappings(child);
	watch_read(watch);
	if (!seen.n_lost) {
		CHECK_EQ(seen.child, child);
		CHECK_EQ(seen.n_exited, 0);
		CHECK(!processes_has_exited(watch_processes(watch), child));
	}
	CHECK_EQ(write(thread_go[1], "x", 1), 1);
	waitpid(child, NULL, 0);
	usleep(200000);		/* processes are asked whether they have ended 100 ms apart */
	run_child(false, NULL); /* an event is what it takes */
	watch_read(watch);
	if (!seen.n_lost) {
		CHECK_EQ(seen.n_exited, 1);
		CHECK(processes_has_exited(watch_processes(watch), child));
	}
	return seen.n_lost;
}

/* A round in which others fill the rings says nothing. */
TEST_UNLESS(watch_lacks, a_process_ends_with_its_last_thread)
{
	CHECK_EQ(pipe(thread_go), 0);
	for (int known = NUMBER_OF_THREADS; known <= NOTHING_THEN; known++)
		while (check_last_thread((enum known)known))
			;
	close(thread_go[0]);
	close(thread_go[1]);
}

TEST_UNLESS(watch_lacks, an_exec_is_told_apart_from_a_change)
{
	stay_on_one_cpu();
	watch_child(true, NULL);
	CHECK(seen.n_changed >= 1); /* another tracer's probes map a page, too */
	CHECK_EQ(seen.executed_at, 0);
	watch_child(false, "/bin/true");
	CHECK(seen.n_changed >= 2); /* at least the exec itself and the program's code */
	CHECK(seen.executed_at > seen.forked_at);
	CHECK(seen.exited_at > seen.executed_at);
	CHECK_EQ(seen.n_exited, 1);
}

TEST_UNLESS(watch_lacks, making_memory_executable_is_a_change_and_mapping_data_none)
{
	int n_by_data;
	void *code;

	do {
		reopen_watch();
		code = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		watch_read(watch);
		n_by_data = seen.n_changed;
		mprotect(code, 4096, PROT_READ | PROT_EXEC);
		watch_read(watch);
		munmap(code, 4096);
	} while (seen.n_lost);
	CHECK_EQ(n_by_data, 0);
	CHECK(seen.n_changed >= 1);
}

/*
 * Records lie across the ring's end now and then. What others do may fill it while this process has
 * no CPU, which is told with the first event afterwards: such a round says nothing.
 */
TEST_UNLESS(watch_lacks, many_turns_of_the_ring_lose_nothing)
{
	int n_whole = 0, n_others = 0;

	stay_on_one_cpu();
	for (int round = 0; round < 200; round++) {
		int n_changed = seen.n_changed, n_lost = seen.n_lost;

		for (int i = 0; i < 100; i++)
			map_code();
		watch_read(watch);
		map_code();
		watch_read(watch);
		if (seen.n_lost == n_lost) {
			CHECK(seen.n_changed - n_changed >= 101);
			n_others += seen.n_changed - n_changed - 101;
			n_whole++;
		}
	}
	CHECK(n_whole > 20);
	CHECK(n_others <= 2); /* another tracer's probes map a page, too */
}

/*
 * The kernel says so with the first event for which there is room again. Who hears of it looks at
 * every process.
 */
TEST_UNLESS(watch_lacks, losses_of_all_cpus_are_told_once)
{
	int n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);

	for (int cpu = 0; cpu < n_cpus; cpu++)
		if (go_to_cpu(cpu))
			fill_ring();
	watch_read(watch); /* of others, whose records take less room */
	CHECK(seen.n_lost <= 1);
	for (int cpu = 0; cpu < n_cpus; cpu++)
		if (go_to_cpu(cpu))
			map_code();
	watch_read(watch);
	CHECK(seen.n_lost >= 1 && seen.n_lost <= 2);
}

/* Starts a child that is known; again if others have filled the rings meanwhile. */
static pid_t start_known_child(void)
{
	pid_t child = 0;

	stay_on_one_cpu();
	do {
		if (child)
			end_child(child);
		reopen_watch();
		read_mappings(getpid());
		child = start_child();
		watch_read(watch);
	} while (seen.n_lost);
	CHECK_EQ(seen.child, child);
	return child;
}

/* A child that is known, when events have been lost, and the next one is told so. */
static pid_t lose_events_of_child(void)
{
	pid_t child = start_known_child();

	fill_ring();
	return child;
}

/* Nobody would ever say again that they have ended. */
TEST_UNLESS(watch_lacks, processes_that_end_while_events_are_lost_are_told)
{
	pid_t child = lose_events_of_child();
	for (int i = 0; i < 10; i++)
		run_child(false, NULL); /* what they do takes less room */
	end_child(child);
	watch_read(watch);
	map_code();
	watch_read(watch);
	CHECK(seen.n_lost >= 1);
	CHECK_EQ(seen.n_exited, 1);
}

/* By its own event, and not once more because of the loss. */
TEST_UNLESS(watch_lacks, a_process_that_ends_after_a_loss_is_told_once)
{
	pid_t child = lose_events_of_child();

	watch_read(watch);
	end_child(child);
	watch_read(watch);
	CHECK(seen.n_lost >= 1);
	CHECK_EQ(seen.n_exited, 1);
}

/* As those that BPF has tables of. */
static void publish_mappings(pid_t pid)
{
	struct processes *table = watch_processes(watch);
	struct maps *maps = processes_read(table, pid, clock_now_ns());

	processes_publish(table, pid, maps);
	maps_release(maps);
}

/* The exit is noted, then the loss, and both are handled. */
TEST_UNLESS(watch_lacks, a_process_that_ends_before_a_loss_is_told_once)
{
	pid_t child = start_known_child();

	publish_mappings(child);
	end_child(child);
	fill_ring();
	processes_state(watch_processes(watch), child, clock_now_ns()); /* notes what there is */
	map_code();
	watch_read(watch);
	CHECK(seen.n_lost >= 1);
	CHECK_EQ(seen.n_exited, 1);
}

/* The inode of the first file that a process had mapped at that time whose path ends so. */
static ino_t find_inode(struct processes *table, pid_t pid, uint64_t time_ns, const char *ending)
{
	struct maps *maps = processes_recall(table, pid, time_ns);
	ino_t ino = 0;

	for (size_t i = 0; maps && i < maps->count && !ino; i++) {
		const char *path = maps->items[i].name->path;
		size_t n = strlen(path), m = strlen(ending);

		if (n >= m && !strcmp(path + n - m, ending))
			ino = maps->items[i].name->ino;
	}
	maps_release(maps);
	return ino;
}

/* On whichever CPUs it was. A question takes the events out, the handlers get them later. */
TEST_UNLESS(watch_lacks, a_program_that_is_gone_is_in_the_table)
{
	uint64_t state;
	struct stat st;
	int n_handled;
	ino_t ino;

	CHECK(!stat("/bin/true", &st));
	do {
		pid_t child;

		reopen_watch();
		child = run_child(false, "/bin/true");
		ino = find_inode(watch_processes(watch), child, clock_now_ns(), "/true");
		state = processes_state(watch_processes(watch), child, clock_now_ns());
		n_handled = seen.n_exited + seen.n_drained;
		watch_read(watch);
	} while (seen.n_lost);
	CHECK_EQ(ino, st.st_ino);
	CHECK(state != 0);
	CHECK_EQ(n_handled, 0);
	CHECK_EQ(seen.n_exited, 1);
}

TEST_UNLESS(watch_lacks, a_ring_that_runs_over_clears_the_table)
{
	pid_t child;

	stay_on_one_cpu();
	child = watch_child(false, "/bin/true");
	CHECK(processes_state(watch_processes(watch), child, clock_now_ns()) != 0);
	fill_ring();
	watch_read(watch);
	map_code();
	CHECK_EQ(processes_state(watch_processes(watch), child, clock_now_ns()), 0);
}
