// SPDX-License-Identifier: GPL-2.0-only
/* Per-task state from the loader's side; see taskstate.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "run/bpfmap.h"

#define ITER_BUFFER_BYTES (64 << 10)

#define STATE_ITERATOR "task_state_iter"
#define BIRTH_PROGRAM  "task_state_new"
#define SLOTS_PROGRAM  "task_state_free"
#define MAX_TRIES      10
#define RETRY_US       1000

struct taskstate {
	const struct run *run;
	struct bpf_link *slots_link; /* link of the program that frees slots */
	int timer_fd;		     /* timer for missing states; -1: none */
	uint64_t n_failed;	     /* failures that were retried */
};

static const struct taskstate defaults = { .timer_fd = -1 };

void taskiter_configure(const struct run *run, const char *program)
{
	bpf_program__set_autoattach(bpf_object__find_program_by_name(run->object, program), false);
}

static void leave_out_slots(const struct run *run)
{
	program_leave_out(run, "task_state_free");
	map_leave_out(run, "task_slots");
	map_leave_out(run, "task_slot_claims");
	map_leave_out(run, "task_states");
}

static void leave_out_other_kind(const struct run *run, bool has_storage)
{
	if (!has_storage) {
		leave_out_slots(run);
		return;
	}
	program_leave_out(run, "task_state_exec");
	map_leave_out(run, "task_states_by_tid");
}

static int configure_taskstate(struct run *run)
{
	const struct taskstate_spec *spec = run_spec(run, &taskstate_module);
	bool has_storage = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
						   BPF_FUNC_task_storage_get, NULL) == 1;

	msg_debug("task state: %s", has_storage ? "task storage" : "hash table");
	leave_out_other_kind(run, has_storage);
	if (has_storage && !(spec && spec->sees_ends))
		program_leave_out(run, "task_state_exit");
	taskiter_configure(run, STATE_ITERATOR);
	taskiter_configure(run, SLOTS_PROGRAM);
	return map_set_settings(run, ".rodata.task_state", &has_storage, sizeof(has_storage));
}

/*
 * Warns if threads of other pid namespaces have no state: the iterator doesn't show threads that
 * already run there, and their states are made at fork.
 */
static void warn_of_namespace(const struct run *run)
{
	const struct bpf_program *birth =
		bpf_object__find_program_by_name(run->object, BIRTH_PROGRAM);

	if (bpf_program__fd(birth) >= 0 && target_reaches_outside(run))
		msg_warn("threads of other pid namespaces: not traced if they already run");
}

/*
 * Attaches the program that frees an exited task's slot, before any slot is taken and until after
 * the last report, whose iterators read states: otherwise a new task at a dead task's address would
 * get its state.
 */
static int start_taskstate(struct run *run)
{
	struct taskstate *state = run_state(run, &taskstate_module);
	struct bpf_program *prog = bpf_object__find_program_by_name(run->object, SLOTS_PROGRAM);

	warn_of_namespace(run);
	if (bpf_program__fd(prog) < 0)
		return 0;
	state->slots_link = bpf_program__attach_trace(prog);
	return state->slots_link ? 0 : msg_errno(-errno, "%s: attach failed", SLOTS_PROGRAM);
}

static int leave_out_taskstate(struct run *run)
{
	program_leave_out(run, BIRTH_PROGRAM);
	program_leave_out(run, "task_state_exit");
	program_leave_out(run, "task_state_exec");
	program_leave_out(run, "task_state_iter");
	leave_out_slots(run);
	map_leave_out(run, "task_states_by_tid");
	return 0;
}

/*
 * Reads the iterator to its end, one record per read(): it is handled right after its task was
 * visited, since a waiting thread may soon continue. A read() may end within a record, and the next
 * returns its rest.
 */
static int read_records(int fd, size_t size, void (*visit)(const void *record, void *arg),
			void *arg)
{
	size_t filled = 0, wanted = visit ? size : ITER_BUFFER_BYTES;
	char *buffer = mem_zalloc(1, wanted);
	ssize_t n;

	while ((n = read(fd, buffer + filled, wanted - filled)) > 0) {
		filled += (size_t)n;
		if (visit && filled < wanted)
			continue;
		if (visit)
			visit(buffer, arg);
		filled = 0;
	}
	free(buffer);
	return n < 0 ? -errno : 0;
}

int taskiter_visit(const struct run *run, const char *program, size_t size,
		   void (*visit)(const void *record, void *arg), void *arg)
{
	struct bpf_link *link;
	int fd, err;

	link = bpf_program__attach_iter(bpf_object__find_program_by_name(run->object, program),
					NULL);
	if (!link)
		return msg_errno(-errno, "task iterator: attach failed");
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? fd : read_records(fd, size, visit, arg);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err ? msg_errno(err, "task iterator: read failed") : 0;
}

/* ---- states that could not be made ---- */

static uint64_t count_failed(const struct run *run)
{
	int fd = bpf_map__fd(map_find(run, ".data.task_failed"));
	uint64_t n = 0;
	uint32_t zero = 0;

	bpf_map_lookup_elem(fd, &zero, &n);
	return n;
}

/*
 * Sets whether the iterator runs late. It then only creates states, since the start of a wait is
 * unknown.
 */
static void set_late(const struct run *run, bool late)
{
	int fd = bpf_map__fd(map_find(run, ".data.task_late"));
	uint64_t value = late;
	uint32_t zero = 0;

	bpf_map_update_elem(fd, &zero, &value, BPF_ANY);
}

static enum loop_verdict make_missing(int fd, void *arg)
{
	struct taskstate *state = arg;
	uint64_t expirations, n_failed;

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	n_failed = count_failed(state->run);
	if (n_failed == state->n_failed)
		return LOOP_GO;
	set_late(state->run, true);
	taskiter_visit(state->run, STATE_ITERATOR, 0, NULL, NULL);
	set_late(state->run, false);
	msg_debug("task state: %llu allocations failed at first, %llu still fail",
		  (unsigned long long)(n_failed - state->n_failed),
		  (unsigned long long)(count_failed(state->run) - n_failed));
	state->n_failed = n_failed; /* retried when the timer expires again */
	return LOOP_GO;
}

static int watch_failures(const struct run *run, struct taskstate *state)
{
	state->run = run;
	state->timer_fd =
		loop_every(run->loop, TASKSTATE_RETRY_MS * NS_PER_MS, make_missing, state);
	return state->timer_fd < 0 ? msg_errno(state->timer_fd, "timer: setup failed") : 0;
}

int taskstate_visit(const struct run *run, size_t size,
		    void (*visit)(const void *record, void *arg), void *arg)
{
	struct taskstate *state = run_state(run, &taskstate_module);
	uint64_t before, after;
	int err, tries = 0;

	do {
		if (tries)
			usleep(RETRY_US);
		before = count_failed(run);
		err = taskiter_visit(run, STATE_ITERATOR, size, visit, arg);
		after = count_failed(run);
	} while (!err && after != before && ++tries < MAX_TRIES);
	if (err)
		return err;
	state->n_failed = before;
	if (after != before)
		msg_warn("%llu threads not traced: task-storage allocation failed",
			 (unsigned long long)(after - before));
	return state->timer_fd >= 0 ? 0 : watch_failures(run, state);
}

static void finish_taskstate(struct run *run)
{
	const struct taskstate *state = run_state(run, &taskstate_module);

	if (state->timer_fd >= 0)
		close(state->timer_fd);
	bpf_link__destroy(state->slots_link);
}

const struct module taskstate_module = {
	.state = DEFAULTS(defaults),
	.configure = configure_taskstate,
	.start = start_taskstate,
	.leave_out = leave_out_taskstate,
	.finish = finish_taskstate,
};
