// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds the walker against another one: at a marker function, a program hands over the stack that
 * libgcc's _Unwind_Backtrace() found, and it is compared frame by frame with ours.
 */
#ifndef ORACLE_EARLY
#define STACK_PREEMPTIBLE
#endif
#include "stack/stack.bpf.h"
#include "oracle.h"

struct oracle_counts counts SEC(".data.counts") = {};
struct oracle_difference difference SEC(".data.difference") = {};

struct oracle_stack {
	__u64 nothing[ORACLE_SHIFT]; /* so that equal frames have one index */
	__u64 words[STACK_DEPTH];
	__u32 n, ending;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oracle_stack);
} theirs SEC(".maps");

static __always_inline void note_difference(const struct stack_def *def, __u32 at,
					    const struct oracle_stack *stack)
{
	if (difference.is_taken++) /* two at once would be mixed up, but only in what is shown */
		return;
	difference.tgid = def->tgid;
	difference.reason = def->reason;
	difference.n_ours = def->n_words;
	difference.n_theirs = stack->n;
	difference.at = at;
	bpf_probe_read_kernel(difference.ours, sizeof(difference.ours), def->words);
	bpf_probe_read_kernel(difference.theirs, sizeof(difference.theirs), stack->words);
}

/*
 * The index of the first frame that differs, among those that both stacks have and of a few of
 * them; 0: none. A global function, for the verifier's sake.
 */
__noinline int oracle_compare_some(__u32 slot, __u32 first)
{
	struct oracle_stack *stack = bpf_map_lookup_elem(&theirs, &slot);
	struct stack_scratch *scratch = stack_scratch_of(slot);
	const __u64 *shifted = (void *)stack;
	__u32 n;

	if (!stack || !scratch || first > STACK_DEPTH - STACK_CHUNK)
		return 1;
	n = scratch->def.n_words;
	if (n > stack->n + ORACLE_SHIFT)
		n = stack->n + ORACLE_SHIFT;
	for (__u32 i = 0; i < STACK_CHUNK && first + i < n; i++)
		if (first + i >= ORACLE_OWN_FRAMES &&
		    stack_address(scratch->def.words[first + i]) != shifted[first + i])
			return first + i;
	return 0;
}

static __always_inline int oracle_compare(__u32 slot)
{
	int at = 0;

	for (__u32 i = 0; i < STACK_DEPTH && !at; i += STACK_CHUNK)
		at = oracle_compare_some(slot, i);
	return at;
}

/* Given that the frames that both have are equal. */
static __always_inline int oracle_judge(const struct stack_def *def,
					const struct oracle_stack *stack)
{
	__u32 n = stack->n + ORACLE_SHIFT;

	if (def->n_words > n)
		return stack->ending == ORACLE_STOPPED ? ORACLE_BEYOND : ORACLE_DIFFERENT;
	if (def->n_words == n && stack->ending == ORACLE_STOPPED &&
	    (def->reason == UNWIND_NO_RULE || def->reason == UNWIND_COMPLETE))
		return ORACLE_EQUAL; /* we know the dynamic linker's entry point */
	if (def->reason != UNWIND_COMPLETE)
		return ORACLE_INCOMPLETE;
	return def->n_words == n && stack->ending == ORACLE_ENDED ? ORACLE_EQUAL : ORACLE_DIFFERENT;
}

__noinline int oracle_count(__u32 slot)
{
	struct oracle_stack *stack = bpf_map_lookup_elem(&theirs, &slot);
	struct stack_scratch *scratch = stack_scratch_of(slot);
	int at = oracle_compare(slot), verdict;

	if (!stack || !scratch)
		return 0;
	verdict = at ? ORACLE_DIFFERENT : oracle_judge(&scratch->def, stack);
	if (verdict == ORACLE_DIFFERENT)
		note_difference(&scratch->def, at, stack);
	if (scratch->def.reason < UNWIND_REASONS)
		__sync_fetch_and_add(&counts.by_reason[verdict & 7][scratch->def.reason], 1);
	return 0;
}

/* Reads what the program has handed over, into a slot. STACK_NO_SLOT: it can't be compared. */
__noinline __u32 oracle_begin(__u64 frames, __u32 n, __u32 ending)
{
	__u32 slot = stack_claim_slot();
	struct oracle_stack *stack = bpf_map_lookup_elem(&theirs, &slot);

	if (!stack || !stack_begin(slot, STACK_USER, current_tgid()))
		return STACK_NO_SLOT;
	stack->n = n;
	stack->ending = ending;
	if (n <= STACK_DEPTH &&
	    !bpf_probe_read_user(stack->words, n * sizeof(__u64), (void *)frames))
		return slot;
	stack_release_slot(slot);
	return STACK_NO_SLOT;
}

/* void oracle_mark(const uint64_t *frames, size_t n, enum oracle_ending ending) */
SEC("uprobe")
int BPF_KPROBE(oracle_marked, __u64 frames, __u64 n, __u64 ending)
{
	__u32 slot = oracle_begin(frames, n, ending);
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!scratch) {
		__sync_fetch_and_add(&counts.unfit, 1);
		return 0;
	}
	unwind_user(ctx, slot, &scratch->def);
	oracle_count(slot);
	stack_release_slot(slot);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
