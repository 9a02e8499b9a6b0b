/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the current task's user stack: by tables that the loader compiles from .eh_frame, so that
 * programs without frame pointers get complete stacks; by frame pointers in code without unwind
 * information; in 32-bit programs by the kernel's own walk.
 *
 * Global functions walk one frame, and a chunk of frames: the verifier checks a global function
 * once, not in each iteration of a loop. They take no pointers, which kernels before 5.12 reject,
 * so the walk's state is in a map. See abi/unwind_rule.h for the rules.
 */
#ifndef UNWIND_BPF_H
#define UNWIND_BPF_H

#include "lib/compat.bpf.h"
#include "runtimes/runtime_state.bpf.h"
#include "stack/stack_memory.bpf.h"
#include "stack/unwind_processes.bpf.h"
#include "stack/unwind_slots.bpf.h"
#include "stack/unwind_tables.bpf.h"
#include "abi/stack.h"

static __always_inline bool unwind_read(struct unwind_state *s, void *dst, __u32 size, __u64 addr)
{
	(void)s;
	return !bpf_probe_read_user(dst, size, (void *)addr);
}

static __always_inline __u64 unwind_thread_base(struct unwind_state *s)
{
	(void)s;
	return current_thread_base();
}

static __always_inline void unwind_note(struct unwind_state *s, __u64 addr, __u64 word)
{
	if (s->recorder)
		stack_memory_note(s->recorder - 1, addr, word);
}

static __always_inline __u64 unwind_address_mask(void)
{
	return unwind_settings.address_bits;
}

#include "abi/unwind_walk.h"
#include "runtimes/leaving.bpf.h"

/* ---- calls under return probes ---- */

static __always_inline void unwind_begin_returns(struct unwind_returns *returns,
						 struct task_struct *task)
{
	struct uprobe_task *uprobes = HAS_UPROBES ? BPF_CORE_READ(task, utask) : NULL;

	returns->trampoline = returns->next = returns->n = 0;
	if (!uprobes)
		return;
	returns->next = (__u64)BPF_CORE_READ(uprobes, return_instances);
	returns->trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/*
 * Reads more of the kernel's list, up to the call whose return sets the stack pointer to sp.
 * Returns 1 if found, as the last one read. Calls that longjmp() left stay in the list for a while;
 * no active call has their sp.
 */
__noinline int unwind_read_returns(__u32 slot, __u64 sp)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct return_instance *instance;
	struct unwind_return *call;

	if (!HAS_UPROBES || !scratch)
		return 0;
	for (int i = 0; i < UNWIND_RETURNS_CHUNK && scratch->returns.next; i++) {
		instance = (void *)scratch->returns.next;
		call = &scratch->returns.calls[scratch->returns.n++ & (UNWIND_MAX_RETURNS - 1)];
		call->sp = BPF_CORE_READ(instance, stack) + UNWIND_RETURN_BYTES;
		call->address = BPF_CORE_READ(instance, orig_ret_vaddr);
		scratch->returns.next = (__u64)BPF_CORE_READ(instance, next);
		if (call->sp == sp)
			return 1;
	}
	return 0;
}

/* Returns the address that return probes of the current task put on its stack; 0: none. */
__noinline __u64 unwind_trampoline(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!scratch)
		return 0;
	if (!scratch->walk.knows_returns)
		unwind_begin_returns(&scratch->returns, (void *)bpf_get_current_task());
	scratch->walk.knows_returns = true;
	return scratch->returns.trampoline;
}

/* Moves from the trampoline to the true caller; ends recording, which can't compare the list. */
__noinline int unwind_step_from_trampoline(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	__u64 trampoline = unwind_trampoline(slot);
	__u32 last;

	if (!scratch || !trampoline || scratch->walk.ip != trampoline)
		return UNWIND_NO_MAPPING;
	unwind_depend(&scratch->walk);
	for (int i = 0; i < UNWIND_MAX_PROBED / UNWIND_RETURNS_CHUNK; i++) {
		if (!unwind_read_returns(slot, scratch->walk.sp))
			continue;
		last = scratch->returns.n - 1;
		scratch->walk.ip = unwind_code_address(
			scratch->returns.calls[last & (UNWIND_MAX_RETURNS - 1)].address);
		scratch->def.n_words--;
		return UNWIND_GOES_ON;
	}
	return UNWIND_PROBED;
}

/* Reads a task's innermost calls under return probes, for a walk by the loader. */
static __always_inline void unwind_take_returns(__u32 slot, struct task_struct *task)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!scratch)
		return;
	unwind_begin_returns(&scratch->returns, task);
	for (int i = 0; i < UNWIND_MAX_RETURNS / UNWIND_RETURNS_CHUNK; i++)
		unwind_read_returns(slot, ~0ULL);
}

#if !UNWIND_BEGINS_AT_CONTEXT
/*
 * Moves from the trampoline to the caller, by the list, which has the call until the kernel sees
 * its end. The trampoline may have pushed registers.
 */
static __always_inline bool unwind_leave_by_returns(const struct unwind_returns *returns,
						    struct unwind_regs *regs)
{
	for (__u32 i = 0; i < UNWIND_MAX_RETURNS && i < returns->n; i++) {
		if (returns->calls[i].sp - regs->sp > UNWIND_MAX_PUSHED)
			continue;
		regs->ip = unwind_code_address(returns->calls[i].address);
		regs->sp = returns->calls[i].sp;
		return true;
	}
	return false;
}

/*
 * Moves out of the trampoline. Skips the list at its `ret`, where the call of a caller may be as
 * close as the one that has returned.
 */
__noinline int unwind_leave_trampoline(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct unwind_regs *regs;
	__u32 code = 0;

	if (!scratch)
		return UNWIND_PROBED;
	regs = &scratch->walk.regs;
	bpf_probe_read_user(&code, sizeof(code), (void *)regs->ip);
	if ((code & 0xff) != 0xc3 && unwind_leave_by_returns(&scratch->returns, regs))
		return UNWIND_GOES_ON;
	return unwind_leave_by_pops(regs, code) ? UNWIND_GOES_ON : UNWIND_PROBED;
}

/*
 * Replaces the registers in the slot, of a task in the middle of a probe, by those with which it
 * continues. Returns another value than UNWIND_GOES_ON if they can't be determined.
 */
__noinline int unwind_leave_probe(__u32 slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct unwind_regs *regs;
	__u64 at;

	if (!scratch || !HAS_UPROBES)
		return UNWIND_GOES_ON;
	regs = &scratch->walk.regs;
	if (!read_user_registers(regs, current_user_registers()))
		return UNWIND_FAULT;
	at = BPF_CORE_READ(task, utask, xol_vaddr);
	if (at && regs->ip - at <= UNWIND_PROBE_COPY) {
		regs->ip += BPF_CORE_READ(task, utask, vaddr) - at;
		return UNWIND_GOES_ON;
	}
	if ((regs->ip & (UNWIND_PROBE_PAGE - 1)) < UNWIND_PROBE_CODE) {
		unwind_take_returns(slot, task);
		at = scratch->returns.trampoline;
		if (at && regs->ip - at < UNWIND_PROBE_CODE)
			return unwind_leave_trampoline(slot);
	}
	unwind_leave_trap(regs);
	return UNWIND_GOES_ON;
}

#else

/* Does nothing: at the start or end of a probe the registers are the program's own. */
static __always_inline int unwind_leave_probe(__u32 slot)
{
	return UNWIND_GOES_ON;
}

#endif

/* Returns true if ip may be the trampoline: it is at a page's start, like few return addresses. */
static __always_inline bool unwind_may_be_probed(const struct unwind_state *s)
{
	return !s->ip_is_exact && !(s->ip & (UNWIND_PROBE_PAGE - 1));
}

/* ---- one frame ---- */

/* Moves to code interrupted by a signal; a separate function, to save stack in its caller. */
__noinline int unwind_step_to_signalled(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!unwind_settings.by_cfi || !scratch)
		return UNWIND_NO_PROCESS;
	return unwind_signal(&scratch->walk);
}

/*
 * Records the instructions that unwind_by_stub() has not recognized; not those of files, which stay
 * the same while the process's tables do. Ends recording if they can't be read, or if no runtime is
 * walked. s->mapping may belong to another address.
 */
static __always_inline void unwind_note_code(__u32 slot, struct unwind_state *s)
{
	__u64 code;

	if (!s->recorder || (s->mapping.n_pages && unwind_mapping_has(&s->mapping, s->ip)))
		return;
	if (runtime_settings.kinds && unwind_read(s, &code, sizeof(code), s->ip))
		stack_memory_note_word(slot, s->ip, code);
	else
		unwind_depend(s);
}

/*
 * Continues without a rule: by decoding instructions if possible, else along the frame pointer if
 * it leads to known code. A frame pointer of 0 doesn't prove an outermost frame: the register may
 * hold any value.
 */
static __always_inline int unwind_by_gap(__u32 slot, struct unwind_state *s)
{
	bool keeps_frames = runtimes_keep_frames(slot, s);
	int reason = keeps_frames ? UNWIND_NO_RULE : unwind_by_stub(s);
	struct unwind_frame_record record;

	if (reason != UNWIND_NO_RULE || s->ip_is_exact)
		unwind_depend(s);
	if (reason == UNWIND_TRAMPOLINE)
		return unwind_step_to_signalled(slot);
	if (reason != UNWIND_NO_RULE)
		return reason;
	if (!keeps_frames)
		unwind_note_code(slot, s);
	if (!unwind_read_frame_record(s, &record))
		return UNWIND_NO_RULE;
	if (!unwind_find_mapping(slot, record.return_address - 1) &&
	    record.return_address != unwind_trampoline(slot))
		return UNWIND_NO_RULE;
	return unwind_follow_record(s, &record);
}

/* Continues without a rule, or after a return probe. rule NULL: it may not be loaded yet. */
static __always_inline int unwind_without_rule(__u32 slot, struct unwind_state *s,
					       const struct unwind_rule *rule)
{
	int reason = UNWIND_NO_MAPPING;

	if (unwind_may_be_probed(s))
		reason = unwind_step_from_trampoline(slot);
	if (reason == UNWIND_NO_MAPPING) {
		int step = runtimes_leave(slot);

		if (step != UNWIND_NO_RULE)
			return step;
	}
	return rule && reason == UNWIND_NO_MAPPING ? unwind_by_gap(slot, s) : reason;
}

/* Marks the current, interrupted frame as exact; also the signal trampoline before it, if any. */
__noinline int unwind_mark_exact(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	__u32 n;

	if (!scratch)
		return 0;
	n = scratch->def.n_words;
	if (n < 2 || n > STACK_DEPTH)
		return 0;
	scratch->def.words[n - 1] = stack_mark_exact(scratch->def.words[n - 1]);
	if (scratch->walk.is_behind_signal)
		scratch->def.words[n - 2] = stack_mark_exact(scratch->def.words[n - 2]);
	return 0;
}

/*
 * Records the stack address at which frame n begins. Runtimes need ascending addresses, but a walk
 * from C may lead to Go code on a lower stack, and back: Go frames get the last address of C. Has
 * no branch: the verifier would follow both ways.
 */
static __always_inline void unwind_note_sp(struct stack_scratch *scratch, __u32 n)
{
	__u64 more = scratch->walk.sp - scratch->highest_sp, is_less = more >> 63;

	barrier_var(is_less);
	scratch->highest_sp += more & (is_less - 1);
	scratch->sps[n] = scratch->highest_sp;
}

/* Marks the last frame if it was left along its frame pointer. Has no branch, either. */
static __always_inline void unwind_note_framed(struct stack_scratch *scratch, __u32 n)
{
	__u64 last = (__u64)n - 1;

	barrier_var(last); /* preserves the mask */
	scratch->framed[last / STACK_CHUNK % STACK_CHUNKS] |= (__u32)scratch->walk.is_framed
							      << last % STACK_CHUNK;
	scratch->walk.is_framed = false;
}

/* Appends the current frame. Returns false if it doesn't fit. */
static __always_inline bool unwind_note_frame(struct stack_scratch *scratch)
{
	__u32 n = scratch->def.n_words;

	if (n >= STACK_DEPTH)
		return false;
	scratch->def.words[n] = scratch->walk.ip;
	scratch->def.n_words = n + 1;
	if (runtime_settings.kinds)
		unwind_note_sp(scratch, n);
	if (RUNTIME_HAS(RUNTIME_ON_STACK))
		unwind_note_framed(scratch, n);
	return true;
}

/* Moves to the caller by one of Go's rules. number: the rule's eight bytes. */
__noinline int unwind_step_in_go(__u32 slot, __u64 number)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!unwind_settings.by_cfi || !scratch)
		return UNWIND_NO_PROCESS;
	return unwind_by_go_rule(&scratch->walk, (struct unwind_rule *)&number);
}

__noinline int unwind_step_to_interrupted(__u32 slot, __u64 number)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!unwind_settings.by_cfi || !scratch)
		return UNWIND_NO_PROCESS;
	return unwind_go_interrupted(&scratch->walk, (struct unwind_rule *)&number);
}

/*
 * Moves to the caller by the frame pointer alone. The kernel's walk, bpf_get_stack(), finds the
 * same frames, but reads memory at any rbp, where a fault costs more than the whole walk.
 */
static __always_inline int unwind_by_frame_pointer(__u32 slot, struct unwind_state *s)
{
	struct unwind_frame_record record;

	if (unwind_may_be_probed(s) && !unwind_step_from_trampoline(slot))
		return UNWIND_GOES_ON;
	if (!unwind_read_frame_record(s, &record) || !record.return_address)
		return UNWIND_BY_FP;
	return unwind_follow_record(s, &record);
}

/* Appends a frame and moves to its caller. Returns UNWIND_GOES_ON, or how the walk ended. */
__noinline int unwind_step(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct unwind_rule *rule;
	struct unwind_state *s;
	__u64 ip;

	if (!scratch)
		return UNWIND_NO_PROCESS;
	s = &scratch->walk;
	if (unwind_is_null(s))
		return UNWIND_NULL;
	if (!unwind_note_frame(scratch))
		return UNWIND_DEPTH;
	barrier_var(s); /* else scratch takes stack, too */
	if (!unwind_settings.by_cfi)
		return unwind_by_frame_pointer(slot, s);
	ip = s->ip - !s->ip_is_exact;
	if (s->ip_is_exact)
		unwind_mark_exact(slot);
	rule = unwind_find_rule(slot, s, ip);
	if (!rule || rule->kind == UNWIND_GAP)
		return unwind_without_rule(slot, s, rule);
	if (unwind_is_go(rule))
		return unwind_step_in_go(slot, *(__u64 *)rule);
	if (rule->kind == UNWIND_SP_EXACT)
		return unwind_step_to_interrupted(slot, *(__u64 *)rule);
	return unwind_by_rule(s, rule);
}

/* ---- a walk ---- */

/* Records the leaf: the function that has just returned, if any, on top of its caller. */
static __always_inline void unwind_begin_words(struct stack_scratch *scratch)
{
	struct unwind_state *s = &scratch->walk;

	scratch->def.words[0] = scratch->leaf ? scratch->leaf : s->ip;
	scratch->sps[0] = 0;
	scratch->def.n_words = 1;
	if (!scratch->leaf)
		return;
	s->ip_is_exact = false;
	scratch->def.words[1] = s->ip;
	scratch->def.n_words = 2;
}

/* Resets the words: each step records its frame. A cache lookup has overwritten the leaf. */
static __always_inline void unwind_begin_turns(struct stack_scratch *scratch)
{
	scratch->def.words[0] = scratch->leaf;
	scratch->def.n_words = scratch->leaf != 0;
}

/*
 * Sets `names`, which identifies the meaning of addresses: the number in the process's slice and,
 * in the upper half, the size of its perf map.
 */
static __always_inline void unwind_take_names(struct stack_scratch *scratch,
					      const struct unwind_process *process)
{
	scratch->names = process->names;
	if (!(process->names & UNWIND_HAS_PERF_MAP))
		return;
	scratch->def.map_size = unwind_perf_map_size(scratch->def.tgid);
	scratch->names |= scratch->def.map_size << 32;
}

/*
 * Reads the initial registers with which the current task entered the kernel, and its process's
 * tables. Without tables only the leaf is certain: a walk along possible frame pointers would
 * invent callers.
 */
static __always_inline int unwind_prepare(__u32 slot, struct stack_scratch *scratch)
{
	struct unwind_state *s = &scratch->walk;
	struct unwind_process *process;
	int reason = UNWIND_GOES_ON;

	if (!UNWIND_BEGINS_AT_CONTEXT && !read_first_registers(&s->regs))
		return UNWIND_FAULT;
	if (registers_are_32bit(&s->regs))
		return UNWIND_32BIT;
	if (!UNWIND_BEGINS_AT_CONTEXT && current_uprobes())
		reason = unwind_leave_probe(slot);
	unwind_begin(s);
	unwind_begin_words(scratch);
	if (reason)
		return reason;
	process = unwind_find_process(scratch->def.tgid);
	if (!process) {
		scratch->names = unwind_count_of(scratch->def.tgid);
		return UNWIND_NO_PROCESS;
	}
	s->process = *process;
	unwind_take_names(scratch, process);
	s->salt = process->serial * 0xbf58476d1ce4e5b9ULL;
	return UNWIND_GOES_ON;
}

__noinline int unwind_walk_some(__u32 slot)
{
	int reason = UNWIND_GOES_ON;

	for (int i = 0; i < STACK_CHUNK && !reason; i++)
		reason = unwind_step(slot);
	return reason;
}

/*
 * Corrects the reason of a walk that the task's state has ended early. A task past exit_mm() has no
 * address space. Between exec's new address space and the new program's registers, the registers
 * are those of the old program; end_code is set last. At a program's first instruction, the stack
 * is empty and there is no caller.
 */
__noinline int unwind_judge(__u32 slot, int reason)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (!scratch || reason == UNWIND_COMPLETE || reason == UNWIND_DEPTH)
		return reason;
	if (!mm || !BPF_CORE_READ(mm, end_code)) {
		scratch->def.n_words = 0;
		return UNWIND_NO_STACK;
	}
	if (scratch->def.n_words == 1 && scratch->walk.regs.sp == BPF_CORE_READ(mm, start_stack)) {
		unwind_depend(&scratch->walk);
		return UNWIND_COMPLETE;
	}
	return reason;
}

/*
 * Walks the stack of the current task, process def.tgid, into the slot. Returns how the walk ended;
 * UNWIND_GOES_ON: the stack was cached, def.id is its id.
 */
__noinline int unwind_walk(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	int reason;

	if (!unwind_settings.by_cfi || !scratch)
		return UNWIND_NO_PROCESS;
	scratch->def.n_words = scratch->highest_sp = scratch->n_noted = 0;
	scratch->is_cut = false;
	if (RUNTIME_HAS(RUNTIME_ON_STACK))
		__builtin_memset(scratch->framed, 0, sizeof(scratch->framed));
	reason = unwind_prepare(slot, scratch);
	if (!reason) {
		scratch->def.id = stack_memory_recall(slot);
		if (scratch->def.id)
			return UNWIND_GOES_ON;
		unwind_begin_turns(scratch);
	}
	if (!read_other_registers(&scratch->walk.regs))
		reason = UNWIND_FAULT;
	scratch->walk.regs.ip = scratch->walk.ip; /* may differ: see unwind_leave_probe() */
	scratch->walk.regs.sp = scratch->walk.sp;
	for (int i = 0; i < STACK_DEPTH / STACK_CHUNK && !reason; i++)
		reason = unwind_walk_some(slot);
	return unwind_judge(slot, reason ? reason : UNWIND_DEPTH);
}

/* Walks the stack along frame pointers alone. */
__noinline int unwind_walk_by_fp(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (unwind_settings.by_cfi || !scratch)
		return UNWIND_BY_FP;
	scratch->def.n_words = 0;
	if (!read_user_registers(&scratch->walk.regs, current_user_registers()) ||
	    registers_are_32bit(&scratch->walk.regs))
		return UNWIND_BY_FP;
	if (!UNWIND_BEGINS_AT_CONTEXT && current_uprobes())
		unwind_leave_probe(slot);
	unwind_begin(&scratch->walk);
	unwind_begin_words(scratch);
	unwind_begin_turns(scratch);
	for (int i = 0; i < STACK_DEPTH / STACK_CHUNK; i++)
		if (unwind_walk_some(slot))
			break;
	return UNWIND_BY_FP;
}

/*
 * Reads the current task's user stack into the slot: addresses, leaf first, and how the walk ended;
 * or its id only, see unwind_walk().
 */
static __always_inline void unwind_user(void *ctx, __u32 slot, struct stack_def *def)
{
	long bytes;

	def->reason = unwind_settings.by_cfi ? unwind_walk(slot) : unwind_walk_by_fp(slot);
	if (def->n_words || def->reason == UNWIND_NO_STACK)
		return;
	bytes = bpf_get_stack(ctx, def->words, STACK_DEPTH * sizeof(__u64), BPF_F_USER_STACK);
	def->n_words = bytes > 0 ? bytes / sizeof(__u64) : 0;
}

#endif
