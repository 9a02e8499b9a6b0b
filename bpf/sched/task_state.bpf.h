/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State per task: `struct task_state`, which the tool defines before it includes this file. A state
 * is created when its task is forked or, for tasks that exist when tracing starts, by the task
 * iterator; never in the scheduler's tracepoints, which run under the run queue's lock, where
 * nothing should be allocated. It is freed with the task.
 *
 * Creating a state may fail temporarily: the kernel allocates from a small cache per CPU that is
 * refilled later, and fails with -EAGAIN if two programs create the first storage of a task at
 * once, or if the task's last other storage is just being freed (kernel/bpf/bpf_local_storage.c;
 * until 6.2 also if another program on the CPU was interrupted in task storage). So failures are
 * counted, and the loader repeats the iterator: see modules/taskstate.h.
 *
 * A lookup in task storage costs as much as everything else that a program does at a system call.
 * So most states are in an array, in a slot selected by the task's address; only a task whose slot
 * is taken uses task storage. A slot is released when the kernel frees the task.
 *
 * On kernels without task storage for tracing programs (before 5.12), states are in a hash table by
 * thread id, which is updated at the same events.
 *
 * The tool also defines task_visit(), which the iterator calls for every task. If the tool defines
 * TASK_STATE_HAS_END, it defines task_end(), too, called when a task exits, while it still has its
 * ids.
 */
#ifndef TASK_STATE_BPF_H
#define TASK_STATE_BPF_H

#include "lib/compat.bpf.h"
#include "lib/loss.bpf.h"
#include "lib/maps.bpf.h"

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

MAP_ARRAY(task_slots, struct task_slot, 1 << TASK_SLOT_BITS);

/* Locks of slots that are being claimed, by slot index. */
MAP_HASH(task_slot_claims, __u32, __u8, 64);

MAP_HASH(task_states_by_tid, __u32, struct task_state, 65536);

/* Number of failed attempts to create a state; a task may count several times. */
__u64 task_states_failed SEC(".data.task_failed") = 0;

/* Set by the loader once tracing has begun: the iterator only creates states that are missing. */
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
 * Returns a number that identifies a task until it is freed: its distance from an object of this
 * program, since the verifier allows no other arithmetic on addresses.
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

/* Returns the task's slot; NULL: it has none. */
static __always_inline struct task_slot *task_slot_find(struct task_struct *task)
{
	__u64 number = task_number(task);
	__u32 index = task_slot_index(number);
	struct task_slot *slot = bpf_map_lookup_elem(&task_slots, &index);

	return slot && slot->owner == number ? slot : NULL;
}

/* An empty state, in a map because the stack has only 512 bytes. */
static const struct task_state task_state_fresh;

/* Claims the task's slot. Returns NULL if another task has it or is claiming it. */
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
 * Frees the task's slot. A freed task may have had no event (a 6.18 kernel built for small virtual
 * machines has none in interrupts that arrive while a thread of its init runs): then the next task
 * at its address, when created, frees the slot.
 */
static __always_inline void task_slot_release(struct task_struct *task)
{
	struct task_slot *slot = task_slot_find(task);

	if (slot)
		slot->owner = 0;
}

/* Frees a slot with its task; attached longer than other programs, see modules/taskstate.c. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(task_state_free, struct task_struct *task)
{
	task_slot_release(task);
	return 0;
}

/*
 * Creates the state of a new task, before it runs. sched_process_fork is not used because it has no
 * event for kernel-created threads of a process: io_uring's, and vhost's (since 6.4). Idle tasks of
 * CPUs that come online have no id.
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

/* Calls task_end() and deletes a state from the hash table. Loaded only if one of them is used. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(task_state_exit, struct task_struct *task)
{
	__u32 tid = TASK_READ(task, pid);

	task_end(task);
	if (!has_task_storage)
		bpf_map_delete_elem(&task_states_by_tid, &tid);
	return 0;
}

/* Moves a state of the hash table: a thread that calls exec gets the id of the first thread. */
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

	if (!task || TASK_READ(task, exit_state)) /* zombies get no state */
		return 0;
	state = task_state_create(task);
	if (state && !task_states_late)
		task_visit(ctx, task, state);
	return 0;
}

#endif
