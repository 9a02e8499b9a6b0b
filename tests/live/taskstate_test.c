// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of tasks that can't be made at once. The kernel's own reasons can't be brought about at
 * will (see bpf/task_state.bpf.h), so the table that older kernels use is made too small, and then
 * emptied, which for the iterator is the same: no memory now, but later.
 */
#include <sys/timerfd.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/loop.h"
#include "modules/taskstate.h"
#include "run/bpfmap.h"
#include "live.h"
#include "runqlat.skel.h"

#define ROOM 3

static const struct tool tool = { .modules = { { &taskstate_module } } };

static void leave_out_all(struct bpf_object *object)
{
	struct bpf_program *prog;
	struct bpf_map *map;

	bpf_object__for_each_program(prog, object)
		bpf_program__set_autoload(prog, false);
	bpf_object__for_each_map(map, object)
		bpf_map__set_autocreate(map, *bpf_map__name(map) == '.' ||
						     strchr(bpf_map__name(map), '.'));
}

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
	run_for(run.loop, TASKSTATE_RETRY_MS * 3 / 2);
	CHECK_EQ(count_states(skel, false), ROOM);
	taskstate_module.finish(&run);
	loop_free(run.loop);
	run_free(&run);
	runqlat_bpf__destroy(skel);
}
