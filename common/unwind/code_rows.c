// SPDX-License-Identifier: GPL-2.0-only
/*
 * Derives rows from instructions; see code_rows.h. At each function's first instruction the return
 * address is in x30 and nothing is on the stack. This state is propagated to all successors, jumps
 * included. Functions are expected to have a frame that begins with "stp x29, x30, [sp, #-n]!" and
 * ends with "ldp x29, x30, [sp], #n", and once x29 points to it, sp may change in any way; or to
 * leave x29 and x30 alone, call nothing, and change sp by immediates. After any other change of sp,
 * and at code reached in two different states, the state is unknown.
 *
 * In an image, symbols mark the beginnings of functions; in a gap or stub without them, a function
 * begins after the end of a path, unless its code was already reached. Tables of constants between
 * functions look like instructions; at worst they make the code after them unknown. Instructions
 * are encoded as in the Arm Architecture Reference Manual, C4.1.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/arm64_insn.h"
#include "base/mem.h"
#include "unwind/code_rows.h"

#define TEXT_MAX_BYTES	(64U << 10)
#define SYMBOLS_MAX	1024
#define WORD		8
#define SP		31
#define SIGRETURN_FIRST 0xd2801168U /* mov x8, #__NR_rt_sigreturn */
#define MOV_X29_SP	0x910003fdU
#define PACIASP		0xd503233fU
#define BTI_C		0xd503245fU
#define GAP_MIN_BYTES	32 /* smaller gaps are padding between functions */
#define GAP_MAX_BYTES	(1U << 20)
#define GAPS_MAX	512

/* State of the stack before an instruction. */
enum {
	STACK_UNSEEN = -2, /* not reached by known code */
	STACK_UNKNOWN = -1,
	STACK_OUTSIDE = 0,	/* as at entry; larger values: frame size in bytes */
	STACK_BY_X29 = 1 << 20, /* flag: x29 points to the frame */
	STACK_LEAF = 1 << 21,	/* flag: the return address is still in x30 */
};

struct text {
	uint32_t *words;
	int32_t *stacks; /* state of the stack before each word */
	uint32_t *todo;	 /* indices of instructions whose successors are to be visited */
	uint32_t *found; /* indices of reached instructions, in order of discovery */
	size_t count, n_todo, n_found;
	uint64_t vaddr;
	bool is_odd;  /* an instruction contradicts the tracked state */
	bool is_stub; /* indirect jumps in a frame lead to the code after them: unrolled loops */
	bool is_computed; /* an indirect jump may stay in the function */
};

/* ---- instructions ---- */

/* Returns by how many bytes a stp or ldp of x29 and x30 moves sp; 0: another instruction. */
static int32_t moved_by_pair(uint32_t word, uint32_t opcode)
{
	const uint32_t x29_x30_sp = 30U << 10 | SP << 5 | 29U;

	if ((word & 0xffc07fffU) != (opcode | x29_x30_sp))
		return 0;
	return arm64_signed_field(word, 15, 7) * WORD;
}

/* Returns true if the instruction writes sp, as its result or as a base with writeback. */
static bool moves_sp(uint32_t word)
{
	bool rd_is_sp = (word & 31) == SP, rn_is_sp = (word >> 5 & 31) == SP;

	if ((word & 0x3f800000U) == 0x11000000U) /* add, sub, immediate; without flags */
		return rd_is_sp;
	if ((word & 0x3fe00000U) == 0x0b200000U) /* add, sub, extended register */
		return rd_is_sp;
	if ((word & 0x1f800000U) == 0x12000000U) /* and, orr, eor, immediate; not ands (tst) */
		return rd_is_sp && word >> 29 != 3 && word >> 29 != 7;
	if ((word & 0x3a800000U) == 0x28800000U) /* ldp, stp with writeback */
		return rn_is_sp;
	if ((word & 0x3b200400U) == 0x38000400U) /* ldr, str with writeback */
		return rn_is_sp;
	return (word & 0xbfa00000U) == 0x0c800000U && rn_is_sp; /* ld1, st1 etc. */
}

/* Returns true for moves out of the vector registers: fmov, fcvt.., umov, smov. */
static bool leaves_vectors(uint32_t word)
{
	return (word & 0x5f20fc00U) == 0x1e200000U || (word & 0xbfe0ec00U) == 0x0e002c00U;
}

/* Returns true if the instruction may write the register; also for some that only read it. */
static bool may_write(uint32_t word, uint32_t number)
{
	bool is_vector = (word & 0x0c000000U) == 0x0c000000U,
	     is_branch = (word & 0x1c000000U) == 0x14000000U,
	     is_pair = (word & 0x3a000000U) == 0x28000000U;

	if (is_branch || (is_vector && !leaves_vectors(word)))
		return false;
	return (word & 31) == number || (is_pair && (word >> 10 & 31) == number);
}

/* Returns true if code without a frame loses its caller: a call, or a write to x29 or x30. */
static bool loses_caller(uint32_t word)
{
	return arm64_is_call(word) || may_write(word, 30) || may_write(word, 29);
}

static int32_t leaf_after(int32_t before, uint32_t word)
{
	int32_t bytes = (before & ~STACK_LEAF) - arm64_moved_sp(word);

	if (loses_caller(word) || (moves_sp(word) && !arm64_moved_sp(word)) || bytes < 0 ||
	    bytes >= STACK_BY_X29)
		return STACK_UNKNOWN;
	return bytes ? bytes | STACK_LEAF : STACK_OUTSIDE;
}

static int32_t stack_after(int32_t before, uint32_t word)
{
	int32_t made = -moved_by_pair(word, 0xa9800000U), freed = moved_by_pair(word, 0xa8c00000U);

	if (made > 0)
		return before == STACK_OUTSIDE ? made : STACK_UNKNOWN;
	if (freed > 0)
		return (before & ~STACK_BY_X29) == freed ? STACK_OUTSIDE : STACK_UNKNOWN;
	if (before == STACK_OUTSIDE || (before > 0 && before & STACK_LEAF))
		return leaf_after(before, word);
	if (before > 0 && before & STACK_BY_X29)
		return may_write(word, 29) ? STACK_UNKNOWN : before;
	if (before > 0 && word == MOV_X29_SP)
		return before | STACK_BY_X29;
	return moves_sp(word) ? STACK_UNKNOWN : before;
}

/* ---- carrying it along ---- */

/* Records a state. It changes at most twice: to a known state, then to unknown. */
static void reach(struct text *text, uint64_t index, int32_t stack)
{
	int32_t *known;

	if (index >= text->count)
		return;
	known = &text->stacks[index];
	if (*known == stack || *known == STACK_UNKNOWN)
		return;
	if (*known == STACK_UNSEEN)
		text->found[text->n_found++] = (uint32_t)index;
	*known = *known == STACK_UNSEEN ? stack : STACK_UNKNOWN;
	text->todo[text->n_todo++] = (uint32_t)index;
}

/*
 * Returns true if the instruction is impossible with a frame (return, entry, another frame): the
 * path there is wrong, as after a call that never returns.
 */
static bool contradicts(uint32_t word, int32_t stack)
{
	const uint32_t stp_x29_x30_sp = 0xa9007bfdU; /* any offset */

	return stack > STACK_OUTSIDE &&
	       (arm64_is_return(word) || word == PACIASP || word == BTI_C ||
		moved_by_pair(word, 0xa9800000U) < 0 ||
		((word & 0xffc07fffU) == stp_x29_x30_sp && !(stack & STACK_LEAF)));
}

static void reach_successors(struct text *text, uint32_t index)
{
	uint32_t word = text->words[index];
	int32_t after = stack_after(text->stacks[index], word);
	int64_t distance = arm64_branch_distance(word);

	text->is_odd |= contradicts(word, text->stacks[index]);
	if (!text->is_stub)
		text->is_computed |=
			arm64_is_jump_to_register(word) && text->stacks[index] != STACK_OUTSIDE;
	else if (arm64_is_jump_to_register(word) && after > STACK_OUTSIDE)
		reach(text, index + 1, after);
	if (distance)
		reach(text, index + (uint64_t)distance,
		      arm64_is_call(word) ? STACK_OUTSIDE : after);
	if (!arm64_ends_path(word))
		reach(text, index + 1, after);
}

static void follow(struct text *text)
{
	while (text->n_todo)
		reach_successors(text, text->todo[--text->n_todo]);
}

/* ---- the image ---- */

/* Analyses a function. After a contradiction, all code reached from it is unknown. */
static void begin_at(struct text *text, uint64_t vaddr)
{
	uint64_t index = (vaddr - text->vaddr) / ARM64_INSN_BYTES;
	size_t first;

	if (vaddr < text->vaddr || vaddr % ARM64_INSN_BYTES || index >= text->count ||
	    text->words[index] == SIGRETURN_FIRST)
		return;
	first = text->n_found;
	text->is_odd = false;
	reach(text, index, STACK_OUTSIDE);
	follow(text);
	for (size_t i = first; text->is_odd && i < text->n_found; i++)
		text->stacks[text->found[i]] = STACK_UNKNOWN;
}

static void begin_at_functions(struct text *text, const struct elf64 *elf)
{
	Elf64_Shdr section;
	Elf64_Sym *symbols;

	if (elf64_find_section(elf, ".dynsym", &section))
		return;
	symbols =
		elf64_read(elf, section.sh_offset, section.sh_size, SYMBOLS_MAX * sizeof(*symbols));
	for (size_t i = 0; symbols && i < section.sh_size / sizeof(*symbols); i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC)
			begin_at(text, symbols[i].st_value);
	free(symbols);
}

static struct unwind_rule rule_of(int32_t stack)
{
	struct unwind_rule rule = { .kind = UNWIND_GAP };

	if (stack < 0)
		return rule;
	rule.kind = stack & STACK_BY_X29 ? UNWIND_BP : UNWIND_SP;
	rule.cfa_off = stack & ~(STACK_BY_X29 | STACK_LEAF);
	if (stack == STACK_OUTSIDE || stack & STACK_LEAF) {
		rule.extra_place = UNWIND_RA_IN_LINK;
		return rule;
	}
	rule.bp_kind = UNWIND_BP_AT_CFA;
	rule.bp_off = (int16_t)(-rule.cfa_off / WORD);
	return rule;
}

static void write_rows(struct cfi_table *t, const struct text *text)
{
	int32_t before = STACK_UNKNOWN;

	for (size_t i = 0; i <= text->count; i++) {
		int32_t stack =
			i < text->count && text->stacks[i] >= 0 ? text->stacks[i] : STACK_UNKNOWN;
		struct unwind_rule rule = rule_of(stack);

		if (stack != before)
			cfi_append(t, text->vaddr + i * ARM64_INSN_BYTES, &rule);
		before = stack;
	}
}

static void begin_text(struct text *text)
{
	text->stacks = mem_zalloc(text->count, sizeof(*text->stacks));
	text->todo = mem_zalloc(2 * text->count, sizeof(*text->todo));
	text->found = mem_zalloc(text->count, sizeof(*text->found));
	for (size_t i = 0; i < text->count; i++)
		text->stacks[i] = STACK_UNSEEN;
}

static void end_text(struct text *text)
{
	free(text->words);
	free(text->stacks);
	free(text->todo);
	free(text->found);
}

void code_rows_fill_image(struct cfi_table *t, const struct elf64 *elf)
{
	Elf64_Shdr section;
	struct text text = {};

	if (elf->header.e_machine != EM_AARCH64 || t->count ||
	    elf64_find_section(elf, ".text", &section))
		return;
	text.words = elf64_read(elf, section.sh_offset, section.sh_size, TEXT_MAX_BYTES);
	text.count = section.sh_size / ARM64_INSN_BYTES;
	text.vaddr = section.sh_addr;
	if (text.words && text.count) {
		begin_text(&text);
		begin_at_functions(&text, elf);
		write_rows(t, &text);
	}
	end_text(&text);
}

/* ---- gaps ---- */

/* Analyses functions in ascending order; skips code that an earlier function has reached. */
static void begin_in_turn(struct text *text)
{
	bool is_after_end = true;

	for (size_t i = 0; i < text->count; i++) {
		bool is_padding = text->words[i] == ARM64_NOP || !text->words[i];

		if (is_after_end && !is_padding && text->stacks[i] == STACK_UNSEEN)
			begin_at(text, text->vaddr + i * ARM64_INSN_BYTES);
		is_after_end = arm64_ends_path(text->words[i]) || (is_after_end && is_padding);
	}
}

static void derive_rows(struct cfi_table *t, struct text *text)
{
	begin_text(text);
	begin_in_turn(text);
	if (!text->is_computed)
		write_rows(t, text);
}

void code_rows_fill_code(struct cfi_table *t, const uint8_t *code, size_t bytes)
{
	struct text text = { .count = bytes / ARM64_INSN_BYTES, .is_stub = true };

	text.words = mem_zalloc(text.count + 1, sizeof(*text.words));
	memcpy(text.words, code, text.count * sizeof(*text.words));
	derive_rows(t, &text);
	end_text(&text);
}

static void fill_gap(struct cfi_table *t, struct text *text)
{
	uint64_t end = text->vaddr + text->count * ARM64_INSN_BYTES;
	struct cfi_table found = {};

	derive_rows(&found, text);
	if (found.count && cfi_vaddr(&found, found.count - 1) == end)
		found.count--;
	cfi_fill_gap_from(t, &found, found.count, end);
	cfi_free(&found);
}

void code_rows_fill_gaps(struct cfi_table *t, const struct elf64 *elf)
{
	struct cfi_gap gap = { .end = 0 };

	for (size_t n = 0; n < GAPS_MAX && cfi_next_gap(t, elf, GAP_MIN_BYTES, &gap); n++) {
		struct text text = { .count = (gap.end - gap.vaddr) / ARM64_INSN_BYTES,
				     .vaddr = gap.vaddr };

		if (gap.vaddr % ARM64_INSN_BYTES)
			continue;
		text.words = elf64_read_vaddr(elf, gap.vaddr, gap.end - gap.vaddr, GAP_MAX_BYTES);
		if (text.words)
			fill_gap(t, &text);
		end_text(&text);
	}
}
