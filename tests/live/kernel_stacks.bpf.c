// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds the walk of kernel stacks against the kernel's own, bpf_get_task_stack(), in the same
 * event: the task is not running, so both see the same stack.
 */
#include "stack/kernel_walk.bpf.h"
#include "kernel_stacks.h"

struct kernel_stacks_counts counts SEC(".data.counts") = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as there are slots */
	__type(key, __u32);
	__type(value, struct kernel_stacks_pair);
} pairs SEC(".maps");

/* A global function, for the verifier's sake. */
__noinline int pair_is_equal(__u32 slot)
{
	struct kernel_stacks_pair *pair = bpf_map_lookup_elem(&pairs, &slot);
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!pair || !scratch)
		return 0;
	bpf_probe_read_kernel(pair->ours, sizeof(pair->ours), scratch->def.words);
	pair->n_ours = scratch->def.n_words;
	if (pair->n_ours != pair->n_theirs)
		return 0;
	for (__u32 i = 0; i < KERNEL_STACKS_WORDS && i < pair->n_theirs; i++)
		if (pair->ours[i] != pair->theirs[i])
			return 0;
	return 1;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(kernel_stacks_compare, bool preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	__u32 slot = stack_claim_slot();
	struct stack_def *def = stack_begin(slot, STACK_KERNEL, 0);
	struct kernel_stacks_pair *pair = bpf_map_lookup_elem(&pairs, &slot);
	bool is_walked;
	long bytes;

	if (!pair || !def || task_is_idle(next))
		return 0;
	is_walked = kernel_walk_task(slot, next);
	bytes = bpf_get_task_stack(next, pair->theirs, sizeof(pair->theirs), 0);
	pair->n_theirs = bytes > 0 ? bytes / sizeof(__u64) : 0;
	if (bytes < 0) {
		__sync_fetch_and_add(&counts.refused, 1);
	} else if (!is_walked) {
		__sync_fetch_and_add(&counts.not_walked, 1);
		bpf_probe_read_kernel(&counts.last_not_walked, sizeof(*pair), pair);
	} else if (pair_is_equal(slot)) {
		__sync_fetch_and_add(&counts.equal, 1);
	} else {
		__sync_fetch_and_add(&counts.different, 1);
		bpf_probe_read_kernel(&counts.last_different, sizeof(*pair), pair);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
