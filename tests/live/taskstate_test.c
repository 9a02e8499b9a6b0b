// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of tasks that can't be made at once. The kernel's own reasons can't be brought about at
 * will (see bpf/sched/task_state.bpf.h), so the table that older kernels use is made too small, and
 * then emptied, which for the iterator is the same: no memory now, but later. With task storage,
 * most states are in slots, which have to be returned.
 */
#include <pthread.h>
#include <sys/timerfd.h>

#include <bpf/bpf.h>

#include "base/loop.h"
#include "modules/taskstate.h"
#include "run/bpfmap.h"
#include "live.h"
#include "runqlat.skel.h"

#define ROOM 3

static const struct tool tool = { .modules = { { &taskstate_module } } };

/* Only the iterator, with the table by thread. False: it can't be loaded. */
static bool load_iterator(struct run *run, struct runqlat_bpf *skel)
{
	bool has_storage = false;

	run->object = skel->obj;
	run->loop = loop_new();
	leave_out_all(skel->obj);
	bpf_program__set_autoload(skel->progs.task_state_iter, true);
	bpf_program__set_autoattach(skel->progs.task_state_iter, false);
	bpf_map__set_autocreate(skel->maps.task_states_by_tid, true);
	bpf_map__set_max_entries(skel->maps.task_states_by_tid, ROOM);
	return !map_set_settings(run, ".rodata.task_state", &has_storage, sizeof(has_storage)) &&
	       !runqlat_bpf__load(skel);
}

static int count_states(const struct runqlat_bpf *skel, bool take_away)
{
	int fd = bpf_map__fd(skel->maps.task_states_by_tid), n = 0;
	uint32_t *before = NULL, key, next;

	while (!bpf_map_get_next_key(fd, before, &next)) {
		n++;
		key = next;
		before = &key;
		if (take_away && !bpf_map_delete_elem(fd, &key))
			before = NULL;
	}
	return n;
}

static enum loop_verdict stop(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	return LOOP_STOP;
}

static void run_for(struct loop *loop, int ms)
{
	struct itimerspec spec = { .it_value = { ms / 1000, ms % 1000 * 1000000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	timerfd_settime(fd, 0, &spec, NULL);
	loop_watch(loop, fd, stop, NULL);
	loop_run(loop);
	close(fd);
}

TEST(states_that_could_not_be_made_are_made_later)
{
	struct runqlat_bpf *skel = runqlat_bpf__open();
	struct run run;

	run_init(&run, &tool);
	CHECK(skel && load_iterator(&run, skel));
	CHECK_EQ(taskstate_visit(&run, 0, NULL, NULL), 0);
	CHECK_EQ(count_states(skel, true), ROOM);
	CHECK_EQ(count_states(skel, false), 0);
	for (int i = 0; i < 60 && !count_states(skel, false); i++)
		run_for(run.loop, TASKSTATE_RETRY_MS * 3 / 2);
	CHECK_EQ(count_states(skel, false), ROOM);
	taskstate_module.finish(&run);
	loop_free(run.loop);
	run_free(&run);
	runqlat_bpf__destroy(skel);
}

/* Attaches the programs that fill and free slots. Returns false if they can't be loaded. */
static bool attach_slots(struct run *run, struct runqlat_bpf *skel)
{
	bool has_storage = true;

	run->object = skel->obj;
	leave_out_all(skel->obj);
	bpf_program__set_autoload(skel->progs.task_state_new, true);
	bpf_program__set_autoload(skel->progs.task_state_free, true);
	bpf_map__set_autocreate(skel->maps.task_slots, true);
	bpf_map__set_autocreate(skel->maps.task_slot_claims, true);
	bpf_map__set_autocreate(skel->maps.task_states, true);
	return !map_set_settings(run, ".rodata.task_state", &has_storage, sizeof(has_storage)) &&
	       !runqlat_bpf__load(skel) && !runqlat_bpf__attach(skel);
}

/* The owner is the first word of a slot. */
static int count_owned(const struct runqlat_bpf *skel)
{
	uint32_t n = bpf_map__max_entries(skel->maps.task_slots);
	uint64_t slot[64];
	int n_owned = 0;

	CHECK(bpf_map__value_size(skel->maps.task_slots) <= sizeof(slot));
	for (uint32_t i = 0; i < n; i++)
		if (!bpf_map_lookup_elem(bpf_map__fd(skel->maps.task_slots), &i, slot))
			n_owned += slot[0] != 0;
	return n_owned;
}

static pid_t fork_resting(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

#define N_CHILDREN 1000
#define N_OTHERS   500 /* that end or begin meanwhile; two children may share a slot */

TEST(slots_are_given_back_when_their_tasks_are_gone)
{
	struct runqlat_bpf *skel;
	pid_t children[N_CHILDREN];
	int n_owned;
	struct run run;

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_task_storage_get,
				    NULL) != 1)
		SKIP("the kernel has no task storage for tracing programs");
	skel = runqlat_bpf__open();
	run_init(&run, &tool);
	CHECK(skel && attach_slots(&run, skel));
	for (int i = 0; i < N_CHILDREN; i++)
		children[i] = fork_resting();
	n_owned = count_owned(skel);
	CHECK(n_owned >= N_CHILDREN - N_OTHERS);
	for (int i = 0; i < N_CHILDREN; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	for (int i = 0; i < 600 && count_owned(skel) > n_owned - N_CHILDREN + N_OTHERS; i++)
		usleep(100000);
	CHECK(count_owned(skel) <= n_owned - N_CHILDREN + N_OTHERS);
	run_free(&run);
	runqlat_bpf__destroy(skel);
}

/* ---- a thread that executes a program ---- */

static int go[2];
static _Atomic pid_t *thread_tid; /* shared with the child */

static void *execute_when_told(void *arg)
{
	char byte;

	*thread_tid = gettid();
	if (read(go[0], &byte, 1) == 1)
		execl(work_path("pingpong"), "pingpong", "1", NULL);
	_exit(127);
	return arg;
}

/* Its main thread rests; another one will execute something that rests, too. */
static pid_t fork_threaded(void)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	dup2(go[0], STDIN_FILENO);
	dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	pthread_create(&thread, NULL, execute_when_told, NULL);
	for (;;)
		pause();
}

static bool attach_exec(struct run *run, struct runqlat_bpf *skel)
{
	bool has_storage = false;

	run->object = skel->obj;
	leave_out_all(skel->obj);
	bpf_program__set_autoload(skel->progs.task_state_exec, true);
	bpf_program__set_autoload(skel->progs.task_state_exit, true);
	bpf_map__set_autocreate(skel->maps.task_states_by_tid, true);
	return !map_set_settings(run, ".rodata.task_state", &has_storage, sizeof(has_storage)) &&
	       !runqlat_bpf__load(skel) && !runqlat_bpf__attach(skel);
}

TEST(a_thread_that_executes_takes_its_state_along)
{
	struct runqlat_bpf *skel = runqlat_bpf__open();
	uint64_t state[64] = { 4711 }, moved[64] = {};
	uint32_t tid, pid;
	struct run run;
	int fd;

	thread_tid = mmap(NULL, sizeof(*thread_tid), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK_EQ(pipe(go), 0);
	run_init(&run, &tool);
	CHECK(skel && attach_exec(&run, skel));
	fd = bpf_map__fd(skel->maps.task_states_by_tid);
	CHECK(bpf_map__value_size(skel->maps.task_states_by_tid) <= sizeof(state));
	pid = (uint32_t)fork_threaded();
	while (!*thread_tid)
		usleep(1000);
	tid = (uint32_t)*thread_tid;
	CHECK_EQ(bpf_map_update_elem(fd, &tid, state, BPF_ANY), 0);
	CHECK_EQ(write(go[1], "x", 1), 1);
	for (int i = 0; i < 600 && bpf_map_lookup_elem(fd, &pid, moved); i++)
		usleep(100000);
	CHECK_EQ(moved[0], 4711);
	CHECK(bpf_map_lookup_elem(fd, &tid, moved) != 0);
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	close(go[0]);
	close(go[1]);
	run_free(&run);
	runqlat_bpf__destroy(skel);
}
