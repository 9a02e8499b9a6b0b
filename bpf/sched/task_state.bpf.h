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
 * Task storage costs a helper call with further calls inside: as much as everything else that a
 * program does at a system call. So most states lie in an array, in the slot that the task's
 * address leads to, if no other task had it first; only a task that finds its slot taken uses task
 * storage. A slot is given back when the kernel frees the task, which cannot run any more then.
 *
 * Kernels without task storage for tracing programs (before 5.12) use a hash table by thread id,
 * filled and emptied at the same events.
 *
 * The tool also defines task_visit(), which the iterator calls for every task. If it defines
 * TASK_STATE_HAS_END, too, task_end() is called when a task exits, while it still has its ids.
 */
#ifndef TASK_STATE_BPF_H
#define TASK_STATE_BPF_H

#include "lib/compat.bpf.h"
#include "lib/loss.bpf.h"

const volatile bool has_task_storage SEC(".rodata.task_state") = true;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} task_states SEC(".maps");

#define TASK_SLOT_BITS 12

struct task_slot {
	__u64 owner; /* task_number(); 0: free */
	struct task_state state;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << TASK_SLOT_BITS);
	__type(key, __u32);
	__type(value, struct task_slot);
} task_slots SEC(".maps");

/* While a slot is being claimed, the claimer holds its map element. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u8);
} task_slot_claims SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct task_state);
} task_states_by_tid SEC(".maps");

/* Failed attempts to make a state; a task may count several times. */
__u64 task_states_failed SEC(".data.task_failed") = 0;

/*
 * Set by the loader once tracing has begun: the iterator makes missing states and calls no visit.
 */
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

/* ---- slots ---- */

/*
 * Identifies a task until it is freed: by its distance from an object of this program, since the
 * verifier allows no other arithmetic on addresses.
 */
static __always_inline __u64 task_number(struct task_struct *task)
{
	__u64 number = (__u64)task;

	__asm__ volatile("%0 -= %1" : "+r"(number) : "r"(&task_states_failed));
	return number;
}

static __always_inline __u32 task_slot_index(__u64 number)
{
	return number * 0x9e3779b97f4a7c15ULL >> (64 - TASK_SLOT_BITS);
}

/* Returns the task's own slot; NULL: it has none. */
static __always_inline struct task_slot *task_slot_find(struct task_struct *task)
{
	__u64 number = task_number(task);
	__u32 index = task_slot_index(number);
	struct task_slot *slot = bpf_map_lookup_elem(&task_slots, &index);

	return slot && slot->owner == number ? slot : NULL;
}

/* A map element instead of the stack, which has 512 bytes. */
static const struct task_state task_state_fresh;

/* NULL: another task has that slot, or is claiming it. */
static __always_inline struct task_slot *task_slot_claim(struct task_struct *task)
{
	__u64 number = task_number(task);
	__u32 index = task_slot_index(number);
	struct task_slot *slot = bpf_map_lookup_elem(&task_slots, &index);
	bool is_claimed = false;
	__u8 one = 1;

	if (!slot || slot->owner ||
	    bpf_map_update_elem(&task_slot_claims, &index, &one, BPF_NOEXIST))
		return NULL;
	if (!*(volatile __u64 *)&slot->owner) {
		slot->state = task_state_fresh;
		barrier();
		slot->owner = number;
		is_claimed = true;
	}
	bpf_map_delete_elem(&task_slot_claims, &index);
	return is_claimed ? slot : NULL;
}

/* ---- states ---- */

static __always_inline struct task_state *task_state_find(struct task_struct *task)
{
	struct task_slot *slot;
	__u32 tid;

	if (has_task_storage) {
		slot = task_slot_find(task);
		return slot ? &slot->state : bpf_task_storage_get(&task_states, task, 0, 0);
	}
	tid = TASK_READ(task, pid);
	return bpf_map_lookup_elem(&task_states_by_tid, &tid);
}

static __always_inline struct task_state *task_state_make_stored(struct task_struct *task)
{
	struct task_slot *slot = task_slot_claim(task);

	return slot ? &slot->state
		    : bpf_task_storage_get(&task_states, task, NULL,
					   BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline struct task_state *task_state_create(struct task_struct *task)
{
	struct task_state *state = task_state_find(task);
	__u32 tid = TASK_READ(task, pid);

	if (state)
		return state;
	if (has_task_storage) {
		state = task_state_make_stored(task);
	} else {
		bpf_map_update_elem(&task_states_by_tid, &tid, &task_state_fresh, BPF_NOEXIST);
		state = bpf_map_lookup_elem(&task_states_by_tid, &tid);
	}
	if (!state)
		__sync_fetch_and_add(&task_states_failed, 1);
	return state;
}

/* ---- programs ---- */

/*
 * The end of a task may have no event (a kernel made for small virtual machines, 6.18, has none for
 * what interrupts do on top of the threads of their init): then its slot is found by the next task
 * at that address, which is new and has no state yet.
 */
static __always_inline void task_slot_release(struct task_struct *task)
{
	struct task_slot *slot = task_slot_find(task);

	if (slot)
		slot->owner = 0;
}

/* Only where there are slots. Attached for longer than the others: see modules/taskstate.c. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(task_state_free, struct task_struct *task)
{
	task_slot_release(task);
	return 0;
}

/*
 * Called for each new task, before it runs. sched_process_fork() omits the tasks that the kernel
 * makes for a process: io_uring's, and vhost's (since 6.4). Idle tasks, of CPUs that come online,
 * have no id.
 */
SEC("tp_btf/task_newtask")
int BPF_PROG(task_state_new, struct task_struct *task)
{
	if (!TASK_READ(task, pid))
		return 0;
	if (has_task_storage)
		task_slot_release(task);
	if (!task_state_create(task))
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

/*
 * Only for the table by thread: a thread that executes a program gets the id of the first thread.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(task_state_exec, struct task_struct *task, pid_t old_tid)
{
	__u32 old = old_tid, tid = TASK_READ(task, pid);
	struct task_state *state;

	if (old == tid)
		return 0;
	state = bpf_map_lookup_elem(&task_states_by_tid, &old);
	if (state)
		bpf_map_update_elem(&task_states_by_tid, &tid, state, BPF_ANY);
	bpf_map_delete_elem(&task_states_by_tid, &old);
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
