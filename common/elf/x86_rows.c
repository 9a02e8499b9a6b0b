// SPDX-License-Identifier: GPL-2.0-only
/*
 * Derives rows from instructions; see x86_rows.h. As in code_rows.c, the state of the stack at an
 * entry is propagated to all successors: code that is reached in two states is unknown, and so is
 * all code of an entry that leads to a return with something left on the stack.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/load.h"
#include "base/mem.h"
#include "elf/x86_decode.h"
#include "elf/x86_rows.h"

#define WORD	   8
#define REX_W	   8
#define PASSES_MAX 8
#define SWEEPS_MAX 64
#define STEPS_MAX  32 /* per byte: real code needs 1 or 2 */

enum { RCX = 1, RDX = 2, RSP = 4, RBP = 5 };

/*
 * State of the stack before an instruction: bytes up to the caller's stack, and flags. Bits 22 and
 * above: words from there down to the saved rbp; 0: it is still in the register.
 */
enum {
	STACK_INSIDE = -3, /* not the first byte of an instruction */
	STACK_UNSEEN = -2,
	STACK_UNKNOWN = -1,
	STACK_AT_CALL = WORD,
	STACK_BYTES = (1 << 20) - 1,
	STACK_BY_RBP = 1 << 20, /* counted from rbp instead of rsp */
	STACK_SAVED_SHIFT = 22,
	STACK_SAVED_MAX = 255,
	STACK_FRAMED = (2 * WORD) | STACK_BY_RBP | 2 << STACK_SAVED_SHIFT,
};

struct text {
	const struct x86_code *in;
	int32_t *stacks;		/* state before each byte */
	uint32_t *todo, *found, *order; /* order: position in found + 1, for each byte */
	size_t n_todo, n_found;
	size_t n_steps;	 /* instructions that were followed */
	size_t n_before; /* instructions found from earlier entries */
	bool *is_entry;	 /* a function begins at the byte; NULL: unknown */
	uint32_t *entries;
	size_t n_entries;
	bool *is_proved;
	bool is_odd; /* an instruction contradicts the tracked state */
};

struct step {
	struct x86_insn insn;
	const uint8_t *code;
};

/* ---- instructions ---- */

static bool is_legacy(const struct step *step, uint8_t opcode)
{
	return step->insn.map == X86_MAP_ONE && !step->insn.is_vex && step->insn.opcode == opcode;
}

static bool is_between(const struct step *step, uint8_t first, uint8_t last)
{
	return step->insn.map == X86_MAP_ONE && !step->insn.is_vex && step->insn.opcode >= first &&
	       step->insn.opcode <= last;
}

static unsigned int operation(const struct step *step)
{
	return step->insn.modrm >> 3 & 7;
}

static bool is_wide(const struct step *step, uint8_t opcode)
{
	return is_legacy(step, opcode) && step->insn.rex & REX_W;
}

/* Returns the register of push and pop, which is in the opcode. */
static unsigned int opcode_register(const struct step *step)
{
	return (step->insn.opcode & 7u) | (step->insn.rex & 1 ? 8u : 0u);
}

/* Returns true for n(%rsp) with the offset in *at. */
static bool is_at_sp(const struct step *step, int64_t *at)
{
	const uint8_t *p = step->code + step->insn.modrm_at;
	uint8_t mode = step->insn.modrm >> 6;

	*at = 0;
	if (mode == 3 || (step->insn.modrm & 7) != 4 || p[1] != 0x24 || step->insn.rex & 3)
		return false;
	if (mode == 1)
		*at = (p[2] ^ 0x80) - 0x80;
	if (mode == 2)
		*at = (int32_t)load_u32(p + 2);
	return true;
}

/* Returns the immediate operand of "add" and "sub". */
static int64_t immediate(const struct step *step)
{
	const uint8_t *p = step->code + step->insn.bytes;

	return step->insn.opcode == 0x83 ? (p[-1] ^ 0x80) - 0x80 : (int32_t)load_u32(p - 4);
}

static bool is_on_register(const struct step *step, uint8_t reg)
{
	return step->insn.has_modrm && !x86_rm_is_memory(&step->insn) && x86_rm(&step->insn) == reg;
}

/*
 * Returns false for instructions of the maps 0F38 and 0F3A that write only SSE registers, whose
 * numbers are those of general ones, too (Intel SDM, volume 2, tables ).
 */
static bool writes_general(const struct x86_insn *insn)
{
	if (insn->map == X86_MAP_0F38)
		return insn->opcode >= 0xf0 ||
		       (insn->opcode | 1) == 0x8b; /* movbe, crc32, adcx; movrs */
	return insn->map != X86_MAP_0F3A || (insn->opcode & 0xfc) == 0x14; /* pextr, extractps */
}

/* Returns true if the instruction may write the register; also for some that only read it. */
static bool may_write(const struct step *step, uint8_t reg)
{
	const struct x86_insn *insn = &step->insn;

	if (insn->is_vex || !insn->has_modrm)
		return is_between(step, 0xb8, 0xbf) && opcode_register(step) == reg;
	if (insn->map == X86_MAP_ONE) {
		if (insn->opcode == 0x84 || insn->opcode == 0x85 || (insn->opcode | 3) == 0x3b)
			return false; /* test, cmp */
		if ((insn->opcode == 0x81 || insn->opcode == 0x83) && operation(step) == 7)
			return false;
		if ((insn->opcode | 1) == 0xf7 && (operation(step) | 1) != 3)
			return false; /* test; mul and div, which write rax and rdx */
		return is_on_register(step, reg) ||
		       ((insn->opcode < 0x40 || insn->opcode == 0x8b || insn->opcode == 0x8d ||
			 insn->opcode == 0x63 || insn->opcode == 0x87) &&
			x86_reg(insn) == reg);
	}
	if (insn->map == X86_MAP_0F && (insn->opcode < 0x40 || insn->opcode > 0xaf ||
					(insn->opcode >= 0x50 && insn->opcode < 0x90)))
		return (insn->opcode & 0xf6) == 0xb6 && x86_reg(insn) == reg; /* movzx, movsx */
	return writes_general(insn) && (x86_reg(insn) == reg || is_on_register(step, reg));
}

/* ---- states ---- */

static int32_t saved_words(int32_t stack)
{
	return stack >> STACK_SAVED_SHIFT;
}

static int32_t stack_bytes(int32_t stack)
{
	return stack & STACK_BYTES;
}

static int32_t make_stack(int64_t bytes, int64_t saved)
{
	if (bytes < WORD || bytes > STACK_BYTES || bytes % WORD || saved < 0 ||
	    saved > STACK_SAVED_MAX)
		return STACK_UNKNOWN;
	return (int32_t)(bytes | saved << STACK_SAVED_SHIFT);
}

/* Returns the state after rsp was moved down by n bytes; unchanged if it counts from rbp. */
static int32_t grow(int32_t stack, int64_t n)
{
	if (stack & STACK_BY_RBP)
		return stack;
	return make_stack(stack_bytes(stack) + n, saved_words(stack));
}

/* A frame pointer is saved again by the next function only: the call before never returns. */
static int32_t after_push(int32_t stack, bool is_rbp)
{
	int32_t bytes = stack_bytes(stack) + WORD;

	if (stack & STACK_BY_RBP)
		return is_rbp ? STACK_UNKNOWN : stack;
	return make_stack(bytes, is_rbp && !saved_words(stack) ? bytes / WORD : saved_words(stack));
}

/* Returns the state after rsp was set to rbp, and rbp was popped. */
static int32_t after_leave(int32_t stack)
{
	return stack & STACK_BY_RBP ? make_stack(stack_bytes(stack) - WORD, 0) : STACK_UNKNOWN;
}

static int32_t after_pop(int32_t stack, unsigned int reg)
{
	int32_t bytes = stack_bytes(stack), saved = saved_words(stack);

	if (reg == RSP)
		return STACK_UNKNOWN;
	if (reg == RBP && stack & STACK_BY_RBP)
		return after_leave(stack);
	if (reg == RBP && !saved)
		return STACK_UNKNOWN;
	if (reg == RBP && bytes == saved * WORD)
		saved = 0;
	return stack & STACK_BY_RBP ? stack : make_stack(bytes - WORD, saved);
}

/* Returns true if the state says that rbp has a meaning: it points to the frame, or isn't saved. */
static bool needs_rbp(int32_t stack)
{
	return stack & STACK_BY_RBP || !saved_words(stack);
}

/* Returns true if rsp points to the saved rbp: a copy of rsp is a frame pointer then. */
static bool is_rbp_on_top(int32_t stack)
{
	return !(stack & STACK_BY_RBP) && saved_words(stack) * WORD == stack_bytes(stack);
}

/* Handles moves between rsp and rbp. Returns false for another instruction. */
static bool move_pointers(int32_t *stack, const struct step *step)
{
	bool loads = is_wide(step, 0x8b), stores = is_wide(step, 0x89);
	uint8_t from, to;

	if ((!loads && !stores) || x86_rm_is_memory(&step->insn))
		return false;
	from = loads ? x86_rm(&step->insn) : x86_reg(&step->insn);
	to = loads ? x86_reg(&step->insn) : x86_rm(&step->insn);
	if (from == RSP && to == RBP && is_rbp_on_top(*stack))
		*stack |= STACK_BY_RBP;
	else if (to == RBP ? needs_rbp(*stack) : to == RSP && !(*stack & STACK_BY_RBP))
		*stack = STACK_UNKNOWN;
	return true;
}

/*
 * Handles stores of rbp to the stack, and loads from there, which restore the same value where the
 * frame is counted from rbp. Returns false for other instructions.
 */
static bool save_rbp(int32_t *stack, const struct step *step)
{
	int64_t at, words;

	if ((!is_wide(step, 0x89) && !is_wide(step, 0x8b)) || x86_reg(&step->insn) != RBP ||
	    !is_at_sp(step, &at) || at % WORD)
		return false;
	if (*stack & STACK_BY_RBP)
		return true;
	words = (stack_bytes(*stack) - at) / WORD;
	if (is_wide(step, 0x89) && !saved_words(*stack))
		*stack = make_stack(stack_bytes(*stack), words > 1 ? words : -1);
	else if (is_wide(step, 0x8b) && saved_words(*stack) == words)
		*stack = stack_bytes(*stack);
	else if (is_wide(step, 0x8b) && !saved_words(*stack))
		*stack = STACK_UNKNOWN;
	return true;
}

/* Handles arithmetic on rsp. Returns false for another instruction. */
static bool move_sp(int32_t *stack, const struct step *step, bool has_frame)
{
	int64_t at;

	if ((is_wide(step, 0x81) || is_wide(step, 0x83)) && is_on_register(step, RSP)) {
		if (operation(step) == 5 || operation(step) == 0)
			*stack = grow(*stack, operation(step) ? immediate(step) : -immediate(step));
		else if (operation(step) != 7 && !has_frame && !(*stack & STACK_BY_RBP))
			*stack = STACK_UNKNOWN;
		return true;
	}
	if (!is_wide(step, 0x8d) || x86_reg(&step->insn) != RSP)
		return false;
	if (is_at_sp(step, &at))
		*stack = grow(*stack, -at);
	else if (!(*stack & STACK_BY_RBP))
		*stack = STACK_UNKNOWN;
	return true;
}

static int32_t stack_after(int32_t stack, const struct step *step, bool has_frame)
{
	if (stack < 0)
		return STACK_UNKNOWN;
	if (is_between(step, 0x50, 0x57))
		return after_push(stack, opcode_register(step) == RBP);
	if (is_between(step, 0x58, 0x5f))
		return after_pop(stack, opcode_register(step));
	if (is_legacy(step, 0x68) || is_legacy(step, 0x6a) || is_legacy(step, 0x9c) ||
	    (is_legacy(step, 0xff) && operation(step) == 6))
		return after_push(stack, false);
	if (is_legacy(step, 0x9d) || is_legacy(step, 0x8f))
		return grow(stack, -WORD);
	if (is_legacy(step, 0xc9))
		return after_leave(stack);
	if (move_pointers(&stack, step) || save_rbp(&stack, step) ||
	    move_sp(&stack, step, has_frame))
		return stack;
	if (may_write(step, RSP) && !(stack & STACK_BY_RBP))
		return STACK_UNKNOWN;
	return may_write(step, RBP) && needs_rbp(stack) ? STACK_UNKNOWN : stack;
}

/* ---- propagation ---- */

static bool is_new(int32_t known)
{
	return known == STACK_UNSEEN || known == STACK_INSIDE;
}

/* Returns true for an instruction that was found from the current entry. */
static bool is_own(const struct text *text, uint64_t at)
{
	return text->order[at] > text->n_before;
}

static void mark_inside(struct text *text, size_t at, size_t n)
{
	for (size_t i = at + 1; i < at + n; i++)
		if (text->stacks[i] == STACK_UNSEEN)
			text->stacks[i] = STACK_INSIDE;
}

static void reach(struct text *text, uint64_t at, int32_t stack)
{
	int32_t *known;

	if (at >= text->in->bytes)
		return;
	known = &text->stacks[at];
	if (*known == stack || *known == STACK_UNKNOWN)
		return;
	if (!is_new(*known) && !is_own(text, at)) {
		text->is_odd = true;
		return;
	}
	if (is_new(*known)) {
		text->found[text->n_found++] = (uint32_t)at;
		text->order[at] = (uint32_t)text->n_found;
	}
	*known = is_new(*known) ? stack : STACK_UNKNOWN;
	text->todo[text->n_todo++] = (uint32_t)at;
}

/*
 * Returns true at a return with something on the stack, and at a pop of the return address, which
 * HotSpot's stubs for exceptions take to rcx or rdx.
 */
static bool is_contradiction(const struct step *step, int32_t stack)
{
	if (stack < 0)
		return false;
	if (is_between(step, 0xc2, 0xc3))
		return stack != STACK_AT_CALL;
	return is_between(step, 0x58, 0x5f) && stack == STACK_AT_CALL &&
	       opcode_register(step) != RCX && opcode_register(step) != RDX;
}

/* Returns true for "mov $__NR_rt_sigreturn,%eax; syscall": no function, it has no caller. */
static bool is_trampoline(const struct text *text, uint64_t at)
{
	static const uint8_t code[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 },
			     wide[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	size_t left = text->in->bytes - at;

	return (left >= sizeof(code) && !memcmp(text->in->code + at, code, sizeof(code))) ||
	       (left >= sizeof(wide) && !memcmp(text->in->code + at, wide, sizeof(wide)));
}

static void add_entry(struct text *text, uint64_t at)
{
	if (at >= text->in->bytes || text->is_entry[at] || is_trampoline(text, at))
		return;
	text->is_entry[at] = true;
	text->entries[text->n_entries++] = (uint32_t)at;
}

/* Passes a state on, but not into the next function: the call before it never returns. */
static void pass_on(struct text *text, uint64_t at, int32_t stack)
{
	if (stack == STACK_AT_CALL || !text->is_entry || at >= text->in->bytes ||
	    !text->is_entry[at])
		reach(text, at, stack);
}

/* A jump with nothing on the stack may be the call of another function. */
static void reach_target(struct text *text, uint64_t at, bool is_call, bool is_jump, int32_t after)
{
	if (text->is_entry && (is_call || (is_jump && after == STACK_AT_CALL)))
		add_entry(text, at);
	else
		pass_on(text, at, is_call ? STACK_AT_CALL : after);
}

static void reach_successors(struct text *text, uint32_t at)
{
	struct step step = { .code = text->in->code + at };
	int32_t before = text->stacks[at], after;
	bool is_call;

	if (!x86_decode(&step.insn, step.code, text->in->bytes - at)) {
		text->is_odd = true;
		return;
	}
	text->n_steps++;
	mark_inside(text, at, step.insn.bytes);
	is_call = is_legacy(&step, 0xe8);
	after = stack_after(before, &step, text->in->has_frame);
	text->is_odd |= is_contradiction(&step, before);
	if (step.insn.is_relative)
		reach_target(text, at + step.insn.bytes + (uint64_t)(int64_t)step.insn.relative,
			     is_call, x86_ends_path(&step.insn), after);
	if (!x86_ends_path(&step.insn))
		pass_on(text, at + step.insn.bytes, after);
}

/*
 * Analyses code from an entry, which may be guessed. If the code contradicts itself, or the states
 * found from an earlier entry, all of it becomes unknown; from a known entry, it is left to others.
 */
static void begin_at(struct text *text, size_t at, int32_t stack)
{
	size_t first = text->n_found;

	text->n_before = first;
	text->is_odd = false;
	reach(text, at, stack);
	while (text->n_todo)
		reach_successors(text, text->todo[--text->n_todo]);
	for (size_t i = first; text->is_odd && i < text->n_found; i++) {
		text->stacks[text->found[i]] = text->is_entry ? STACK_UNSEEN : STACK_UNKNOWN;
		text->order[text->found[i]] = 0;
	}
	if (text->is_odd && text->is_entry)
		text->n_found = first;
}

/* Returns the length of a padding instruction; 0: not padding. */
static size_t padding_bytes(const uint8_t *code, size_t bytes)
{
	struct step step = { .code = code };

	if (!*code)
		return 1;
	if (!x86_decode(&step.insn, code, bytes))
		return 0;
	if (is_legacy(&step, 0xf4) || is_legacy(&step, 0xcc) || x86_is_nop(&step.insn))
		return step.insn.bytes;
	return 0;
}

size_t x86_padding(const uint8_t *code, size_t bytes)
{
	size_t at = 0;

	for (size_t n = 1; n && at < bytes; at += n)
		n = padding_bytes(code + at, bytes - at);
	return at;
}

/* Begins at each "push %rbp; mov %rsp,%rbp", or at "push $-1" before it. */
static void begin_at_frames(struct text *text)
{
	static const uint8_t frame[] = { 0x68, 0xff, 0xff, 0xff, 0xff, 0x55, 0x48, 0x8b, 0xec };
	const size_t n_extra = 5;

	for (size_t i = 0; i + sizeof(frame) <= text->in->bytes; i++) {
		const uint8_t *code = text->in->code + i;

		if (text->stacks[i] != STACK_UNSEEN)
			continue;
		if (!memcmp(code, frame, sizeof(frame)) ||
		    !memcmp(code, frame + n_extra, sizeof(frame) - n_extra))
			begin_at(text, i, STACK_AT_CALL);
	}
}

/* Begins after the end of each path, where no other path leads. */
static void begin_in_turn(struct text *text)
{
	bool is_after_end = true;
	size_t padding;

	for (size_t i = 0; i < text->in->bytes; i += padding ? padding : 1) {
		padding = text->stacks[i] == STACK_UNSEEN
				  ? padding_bytes(text->in->code + i, text->in->bytes - i)
				  : 1;
		if (text->stacks[i] == STACK_UNSEEN && is_after_end && !padding)
			begin_at(text, i, STACK_AT_CALL);
		is_after_end = padding || text->stacks[i] != STACK_UNSEEN;
	}
}

static void forget_states(struct text *text)
{
	text->n_found = 0;
	for (size_t i = 0; i < text->in->bytes; i++) {
		text->stacks[i] = STACK_UNSEEN;
		text->order[i] = 0;
	}
}

/*
 * Begins at known functions, and at those that they call. The beginnings are also ends of what is
 * before them, so all code is followed again until no more are found.
 */
static void begin_at_entries(struct text *text)
{
	size_t n_known = 0, max = STEPS_MAX * text->in->bytes;

	for (int pass = 0; pass < PASSES_MAX && n_known < text->n_entries; pass++) {
		n_known = text->n_entries;
		forget_states(text);
		for (size_t i = 0; i < text->n_entries && text->n_steps < max; i++) {
			size_t n_before = text->n_entries;

			begin_at(text, text->entries[i], STACK_AT_CALL);
			if (!text->is_odd || i || !text->in->first_is_guess)
				continue;
			while (text->n_entries > n_before)
				text->is_entry[text->entries[--text->n_entries]] = false;
		}
	}
	if (n_known < text->n_entries || text->n_steps >= max) /* not all ends are known */
		forget_states(text);
}

/* ---- proof ---- */

/*
 * Returns true if the byte is proved, and so is an instruction that leads to it with this state. At
 * an entry, the state must be an empty stack: the entry may be the head of a loop, or an alias. An
 * entry after a call proves nothing: it may be the next function, and the call may never return.
 */
static bool is_proved_from(const struct text *text, uint64_t at, int32_t stack, bool is_after_call)
{
	return at < text->in->bytes && text->is_proved[at] &&
	       (!text->is_entry[at] || (stack == STACK_AT_CALL && !is_after_call));
}

/* Returns true if the state is proved by what follows: a return, or a jump to another function. */
static bool leads_to_end(const struct text *text, size_t at)
{
	struct step step = { .code = text->in->code + at };
	int32_t after;
	uint64_t next;

	if (!x86_decode(&step.insn, step.code, text->in->bytes - at))
		return false;
	if (x86_ends_path(&step.insn) && text->stacks[at] == STACK_AT_CALL &&
	    !is_legacy(&step, 0xf4) && !is_legacy(&step, 0xcc) && step.insn.map == X86_MAP_ONE)
		return true;
	next = at + step.insn.bytes;
	after = stack_after(text->stacks[at], &step, text->in->has_frame);
	if (step.insn.is_relative && !x86_is_call(&step.insn) &&
	    is_proved_from(text, next + (uint64_t)(int64_t)step.insn.relative, after, false))
		return true;
	return !x86_ends_path(&step.insn) &&
	       is_proved_from(text, next, after, x86_is_call(&step.insn));
}

/*
 * Code that leads to no end of its function, only to calls that never return, may have been reached
 * from such a call in the function before it: its state is unknown.
 */
static void prove_states(struct text *text)
{
	bool is_changed = true;
	int sweeps = 0;

	text->is_proved = mem_zalloc(text->in->bytes, sizeof(*text->is_proved));
	while (is_changed && sweeps++ < SWEEPS_MAX) {
		is_changed = false;
		for (size_t i = text->in->bytes; i-- > 0;)
			if (text->stacks[i] >= 0 && !text->is_proved[i] && leads_to_end(text, i))
				is_changed = text->is_proved[i] = true;
	}
	for (size_t i = 0; i < text->in->bytes; i++)
		if (text->stacks[i] >= 0 && !text->is_proved[i])
			text->stacks[i] = STACK_UNKNOWN;
	free(text->is_proved);
}

static struct unwind_rule rule_of(int32_t stack)
{
	struct unwind_rule rule = { .kind = UNWIND_GAP };

	if (stack < 0)
		return rule;
	rule.kind = stack & STACK_BY_RBP ? UNWIND_BP : UNWIND_SP;
	rule.cfa_off = stack_bytes(stack);
	if (saved_words(stack)) {
		rule.bp_kind = UNWIND_BP_AT_CFA;
		rule.bp_off = (int16_t)(-WORD * saved_words(stack));
	}
	return rule;
}

void x86_rows_derive(const struct x86_code *in,
		     void (*add)(size_t offset, const struct unwind_rule *rule, void *arg),
		     void *arg)
{
	struct text text = { .in = in };
	int32_t before = STACK_UNSEEN;

	text.stacks = mem_zalloc(in->bytes, sizeof(*text.stacks));
	text.todo = mem_zalloc(2 * in->bytes, sizeof(*text.todo));
	text.found = mem_zalloc(in->bytes, sizeof(*text.found));
	text.order = mem_zalloc(in->bytes, sizeof(*text.order));
	if (in->n_entries) {
		text.is_entry = mem_zalloc(in->bytes, sizeof(*text.is_entry));
		text.entries = mem_zalloc(in->bytes, sizeof(*text.entries));
	}
	for (size_t i = 0; i < in->bytes; i++)
		text.stacks[i] = STACK_UNSEEN;
	for (size_t i = 0; i < in->n_entries; i++)
		add_entry(&text, in->entries[i]);
	if (in->n_entries) {
		begin_at_entries(&text);
		prove_states(&text);
	} else if (in->has_several) {
		begin_at_frames(&text);
		begin_in_turn(&text);
	} else if (in->bytes) {
		begin_at(&text, 0, in->begins_framed ? STACK_FRAMED : STACK_AT_CALL);
	}
	for (size_t i = 0; i < in->bytes; i++) {
		int32_t stack = text.stacks[i] >= 0 ? text.stacks[i] : STACK_UNKNOWN;
		struct unwind_rule rule = rule_of(stack);

		if (text.stacks[i] != STACK_INSIDE && stack != before)
			add(i, &rule, arg);
		before = text.stacks[i] != STACK_INSIDE ? stack : before;
	}
	free(text.stacks);
	free(text.todo);
	free(text.found);
	free(text.order);
	free(text.is_entry);
	free(text.entries);
}
