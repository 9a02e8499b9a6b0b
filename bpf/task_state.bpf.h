/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tool's state of each task: `struct task_state`, which the tool defines before it includes this
 * file. The state is made when a task is forked, or by the task iterator for tasks that exist when
 * tracing starts; never in the scheduler's tracepoints, which run under the run queue's lock, where
 * nothing should be allocated. It is freed with the task.
 *
 * Making a state can fail for a moment: the kernel takes its memory from a small stock of each CPU
 * that is refilled later, and gives up (-EAGAIN) where two programs make the first storage of one
 * task at once, or where the task's last other storage is just being freed (kernel/bpf/
 * bpf_local_storage.c; until 6.2 also where another program on the CPU was interrupted in task
 * storage). So failures are counted, and the loader sends the iterator again: see
 * modules/taskstate.h.
 *
 * Kernels without task storage for tracing programs (before 5.12) use a hash table by thread,
 * filled and emptied at the same places.
 *
 * The tool also defines task_visit(), which the iterator calls for every task. If it defines
 * TASK_STATE_HAS_END, too, task_end() is called when a task exits, while it still has its ids.
 */
#ifndef TASK_STATE_BPF_H
#define TASK_STATE_BPF_H

#include "compat.bpf.h"
#include "loss.bpf.h"

const volatile bool has_task_storage SEC(".rodata.task_state") = true;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} task_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct task_state);
} task_states_by_tid SEC(".maps");

/* States that could not be made. A task counts each time that it is tried. */
__u64 task_states_failed SEC(".data.task_failed") = 0;

/* Set by the loader once tracing has begun: the iterator makes missing states and visits nobody. */
__u64 task_states_late SEC(".data.task_late") = 0;

static void task_visit(struct bpf_iter__task *ctx, struct task_struct *task,
		       struct task_state *state);

#ifdef TASK_STATE_HAS_END
static void task_end(struct task_struct *task);
#else
static void task_end(struct task_struct *task)
{
}
#endif

static __always_inline struct task_state *task_state_find(struct task_struct *task)
{
	__u32 tid;

	if (has_task_storage)
		return bpf_task_storage_get(&task_states, task, 0, 0);
	tid = TASK_READ(task, pid);
	return bpf_map_lookup_elem(&task_states_by_tid, &tid);
}

/* Not on the stack, which has 512 bytes. */
static const struct task_state task_state_fresh;

static __always_inline struct task_state *task_state_create(struct task_struct *task)
{
	struct task_state *state;
	__u32 tid = TASK_READ(task, pid);

	if (has_task_storage) {
		state = bpf_task_storage_get(&task_states, task, NULL,
					     BPF_LOCAL_STORAGE_GET_F_CREATE);
	} else {
		bpf_map_update_elem(&task_states_by_tid, &tid, &task_state_fresh, BPF_NOEXIST);
		state = bpf_map_lookup_elem(&task_states_by_tid, &tid);
	}
	if (!state)
		__sync_fetch_and_add(&task_states_failed, 1);
	return state;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(task_state_fork, struct task_struct *parent, struct task_struct *child)
{
	if (!task_state_create(child))
		loss_count(LOSS_NO_STATE, 0);
	return 0;
}

/* Only for the table by thread, and for tools with task_end(). */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(task_state_exit, struct task_struct *task)
{
	__u32 tid = TASK_READ(task, pid);

	task_end(task);
	if (!has_task_storage)
		bpf_map_delete_elem(&task_states_by_tid, &tid);
	return 0;
}

SEC("iter/task")
int task_state_iter(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *state;

	if (!task || TASK_READ(task, exit_state)) /* a zombie gets no state any more */
		return 0;
	state = task_state_create(task);
	if (state && !task_states_late)
		task_visit(ctx, task, state);
	return 0;
}

#endif
