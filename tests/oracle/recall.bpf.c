// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds each name that is recalled (stack_memory.bpf.h) against a walk in the same event: the walk
 * takes the next slot of the CPU, which has no memory.
 */
#define STACK_NESTED
#define STACK_RECURS
#include "stack/stack.bpf.h"
#include "recall.h"

struct recall_counts counts SEC(".data.counts") = {};

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* The second name of the stack whose first one has been recalled. */
static __always_inline void compare(void *ctx, struct task_struct *task, __u64 recalled)
{
	__u64 walked = stack_intern_user_typed(ctx, task);

	if (walked == recalled) {
		count(&counts.equal);
		return;
	}
	count(&counts.different);
	counts.last_tgid = task_tgid(task);
	counts.last_recalled = recalled;
	counts.last_walked = walked;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(recall_switch, bool preempt, struct task_struct *prev)
{
	struct stack_scratch *scratch;
	__u32 slot;
	__u64 name;

	if (task_is_idle(prev) || task_is_kthread(prev) || !filter_task(prev))
		return 0;
	name = stack_intern_user_typed(ctx, prev);
	slot = stack_claim_slot();
	scratch = stack_scratch_of(slot);
	if (!scratch)
		return 0;
	if (name && scratch->def.reason == UNWIND_GOES_ON)
		compare(ctx, prev, name);
	else
		count(&counts.walked);
	stack_release_slot(slot);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
