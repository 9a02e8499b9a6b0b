// SPDX-License-Identifier: GPL-2.0-only
/* Rules for well-known code without unwind information; see cfi_gaps.h. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf64.h"
#include "unwind/cfi_gaps.h"
#include "unwind/code_rows.h"
#include "unwind/musl_code.h"

#define ENTRY_MAX_BYTES 64 /* _start, and _dl_start_user, which follows it */
#define CODE_MIN_BYTES	64 /* smaller gaps are padding between functions */
#define CODE_MAX_BYTES	512
#define CODE_ALIGNMENT	16
#define CODE_MAX_GAPS	16
#define CLONE_MAX_BYTES 32
#define MAX_CLONES	64

struct code {
	const uint8_t *bytes;
	size_t left;
};

/* Skips an instruction, given by its first bytes and the number of arbitrary bytes after them. */
static bool skip(struct code *code, const char *begin, size_t n_begin, size_t n_any)
{
	if (code->left < n_begin + n_any || memcmp(code->bytes, begin, n_begin))
		return false;
	code->bytes += n_begin + n_any;
	code->left -= n_begin + n_any;
	return true;
}

#define SKIP(code, begin, n_any) skip(code, begin, sizeof(begin) - 1, n_any)

/* ---- the entry point ---- */

/* Marks the entry point, which has no caller. */
static void fill_entry(struct cfi_table *t, const struct elf64 *elf)
{
	struct cfi_row row = { elf->header.e_entry, { .kind = UNWIND_END } };

	if (row.vaddr)
		cfi_fill_gap(t, &row, 1, cfi_gap_end(t, row.vaddr, ENTRY_MAX_BYTES));
}

/* ---- the compiler's and the C library's start files ---- */

enum effect {
	EFFECT_NONE,
	EFFECT_DOWN,	/* sub $8,%rsp */
	EFFECT_UP,	/* add $8,%rsp */
	EFFECT_PUSH_BP, /* push %rbp */
	EFFECT_POP_BP,	/* pop %rbp */
	EFFECT_END,	/* ret, jmp: another function or a branch target follows */
	EFFECT_UNKNOWN,
};

/* Instructions of start files: first bytes, then a number of arbitrary ones. */
static const struct {
	const char *begin;
	uint8_t n_begin, n_any, effect;
} instructions[] = {
#define INSTRUCTION(begin, n_any, effect)               \
	{                                               \
		begin, sizeof(begin) - 1, n_any, effect \
	}
	INSTRUCTION("\x55", 0, EFFECT_PUSH_BP),
	INSTRUCTION("\x5d", 0, EFFECT_POP_BP),
	INSTRUCTION("\x48\x83\xec\x08", 0, EFFECT_DOWN),
	INSTRUCTION("\x48\x83\xc4\x08", 0, EFFECT_UP),
	INSTRUCTION("\xc3", 0, EFFECT_END),
	INSTRUCTION("\xe9", 4, EFFECT_END),
	INSTRUCTION("\xeb", 1, EFFECT_END),
	INSTRUCTION("\xff\xe0", 0, EFFECT_END),		 /* jmp *%rax */
	INSTRUCTION("\x48\x89\xe5", 0, EFFECT_NONE),	 /* mov %rsp,%rbp */
	INSTRUCTION("\xf3\x0f\x1e\xfa", 0, EFFECT_NONE), /* endbr64 */
	INSTRUCTION("\x74", 1, EFFECT_NONE),		 /* je */
	INSTRUCTION("\x75", 1, EFFECT_NONE),		 /* jne */
	INSTRUCTION("\xe8", 4, EFFECT_NONE),		 /* call */
	INSTRUCTION("\xff\x15", 4, EFFECT_NONE),	 /* call *addr(%rip) */
	INSTRUCTION("\xff\xd0", 0, EFFECT_NONE),	 /* call *%rax */
	INSTRUCTION("\x48\x8d\x3d", 4, EFFECT_NONE),	 /* lea addr(%rip),%rdi */
	INSTRUCTION("\x48\x8d\x05", 4, EFFECT_NONE),	 /* lea addr(%rip),%rax */
	INSTRUCTION("\x48\x8d\x35", 4, EFFECT_NONE),	 /* lea addr(%rip),%rsi */
	INSTRUCTION("\x48\x8b\x05", 4, EFFECT_NONE),	 /* mov addr(%rip),%rax */
	INSTRUCTION("\x48\x8b\x3d", 4, EFFECT_NONE),	 /* mov addr(%rip),%rdi */
	INSTRUCTION("\xb8", 4, EFFECT_NONE),		 /* mov $x,%eax */
	INSTRUCTION("\xbf", 4, EFFECT_NONE),		 /* mov $x,%edi */
	INSTRUCTION("\xbe", 4, EFFECT_NONE),		 /* mov $x,%esi */
	INSTRUCTION("\x48\x3d", 4, EFFECT_NONE),	 /* cmp $x,%rax */
	INSTRUCTION("\x48\x81\xee", 4, EFFECT_NONE),	 /* sub $x,%rsi */
	INSTRUCTION("\x48\x39\xf8", 0, EFFECT_NONE),	 /* cmp %rdi,%rax */
	INSTRUCTION("\x48\x29\xfe", 0, EFFECT_NONE),	 /* sub %rdi,%rsi */
	INSTRUCTION("\x48\x89\xf0", 0, EFFECT_NONE),	 /* mov %rsi,%rax */
	INSTRUCTION("\x48\x01\xc6", 0, EFFECT_NONE),	 /* add %rax,%rsi */
	INSTRUCTION("\x48\x85\xc0", 0, EFFECT_NONE),	 /* test %rax,%rax */
	INSTRUCTION("\x48\xc1\xee", 1, EFFECT_NONE),	 /* shr $n,%rsi */
	INSTRUCTION("\x48\xc1\xf8", 1, EFFECT_NONE),	 /* sar $n,%rax */
	INSTRUCTION("\x48\xd1\xfe", 0, EFFECT_NONE),	 /* sar %rsi */
	INSTRUCTION("\x80\x3d", 5, EFFECT_NONE),	 /* cmpb $x,addr(%rip) */
	INSTRUCTION("\x48\x83\x3d", 5, EFFECT_NONE),	 /* cmpq $x,addr(%rip) */
	INSTRUCTION("\xc6\x05", 5, EFFECT_NONE),	 /* movb $x,addr(%rip) */
	INSTRUCTION("\x0f\x1f\x00", 0, EFFECT_NONE),	 /* nops of three to nine bytes */
	INSTRUCTION("\x0f\x1f\x40", 1, EFFECT_NONE),
	INSTRUCTION("\x0f\x1f\x44", 2, EFFECT_NONE),
	INSTRUCTION("\x0f\x1f\x80", 4, EFFECT_NONE),
	INSTRUCTION("\x0f\x1f\x84", 5, EFFECT_NONE),
	INSTRUCTION("\x90", 0, EFFECT_NONE),
	INSTRUCTION("\x66", 0, EFFECT_NONE), /* prefixes of longer nops */
	INSTRUCTION("\x2e", 0, EFFECT_NONE),
	INSTRUCTION("\xcc", 0, EFFECT_END),
#undef INSTRUCTION
};

static enum effect skip_known(struct code *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(instructions); i++)
		if (skip(code, instructions[i].begin, instructions[i].n_begin,
			 instructions[i].n_any))
			return instructions[i].effect;
	return EFFECT_UNKNOWN;
}

static struct unwind_rule rule_after(enum effect effect, struct unwind_rule before)
{
	const struct unwind_rule outside = { .kind = UNWIND_SP, .cfa_off = 8 };
	const struct unwind_rule inside = { .kind = UNWIND_SP, .cfa_off = 16 };
	const struct unwind_rule with_bp = {
		.kind = UNWIND_SP, .cfa_off = 16, .bp_kind = UNWIND_BP_AT_CFA, .bp_off = -16
	};

	switch (effect) {
	case EFFECT_DOWN:
		return inside;
	case EFFECT_PUSH_BP:
		return with_bp;
	case EFFECT_UP:
	case EFFECT_POP_BP:
	case EFFECT_END:
		return outside;
	default:
		return before;
	}
}

/*
 * Derives rows instruction by instruction, up to the end of the last function without unknown ones.
 * Tracks only one level of the stack: these functions use no more.
 */
static void fill_functions(struct cfi_table *t, uint64_t vaddr, struct code code)
{
	struct cfi_row rows[CODE_MAX_BYTES];
	struct cfi_row row = { vaddr, rule_after(EFFECT_END, (struct unwind_rule){}) };
	size_t n = 0, n_complete = 0, start = code.left;
	uint64_t end = vaddr;

	while (n < ARRAY_SIZE(rows)) {
		enum effect effect;

		rows[n++] = row;
		effect = skip_known(&code);
		if (effect == EFFECT_UNKNOWN)
			break;
		row.vaddr = vaddr + (start - code.left);
		row.rule = rule_after(effect, row.rule);
		if (effect != EFFECT_END)
			continue;
		n_complete = n;
		end = row.vaddr;
	}
	cfi_fill_gap(t, rows, n_complete, end);
}

/* Skips alignment, and zeros between sections. */
static size_t skip_padding(uint64_t vaddr, const uint8_t *code, size_t bytes)
{
	size_t at = -vaddr & (CODE_ALIGNMENT - 1);

	while (at < bytes && !code[at])
		at += CODE_ALIGNMENT;
	return at < bytes ? at : bytes;
}

static void fill_code(struct cfi_table *t, const struct elf64 *elf, uint64_t vaddr, uint64_t bytes,
		      bool is_padded)
{
	Elf64_Phdr load;
	uint8_t *code;
	size_t at;

	if (elf64_find_load(elf, vaddr, &load))
		return;
	code = elf64_read(elf, load.p_offset + (vaddr - load.p_vaddr), bytes, CODE_MAX_BYTES);
	if (!code)
		return;
	at = is_padded ? skip_padding(vaddr, code, bytes) : 0;
	fill_functions(t, vaddr + at, (struct code){ code + at, bytes - at });
	free(code);
}

/*
 * Fills _init or _fini, which the linker concatenates from pieces of many files, without unwind
 * information.
 */
static void fill_section(struct cfi_table *t, const struct elf64 *elf, const char *name)
{
	Elf64_Shdr section;

	if (!elf64_find_section(elf, name, &section))
		fill_code(t, elf, section.sh_addr, section.sh_size, false);
}

/* Fills the first larger gaps: the code of the compiler's start files is among them. */
static void fill_first_gaps(struct cfi_table *t, const struct elf64 *elf)
{
	size_t n_left = CODE_MAX_GAPS;

	for (size_t i = 1; i < t->count && n_left; i++) {
		struct cfi_row row = cfi_row(t, i - 1);
		uint64_t bytes = cfi_vaddr(t, i) - row.vaddr;

		if (row.rule.kind != UNWIND_GAP || bytes < CODE_MIN_BYTES || bytes > CODE_MAX_BYTES)
			continue;
		fill_code(t, elf, row.vaddr, bytes, true);
		n_left--;
	}
}

/* ---- clone ---- */

static bool is_clone(struct code code)
{
	return SKIP(&code, "\x0f\x05", 0) &&				 /* syscall */
	       SKIP(&code, "\x48\x85\xc0", 0) &&			 /* test %rax,%rax */
	       (SKIP(&code, "\x7c", 1) || SKIP(&code, "\x0f\x8c", 4)) && /* jl error */
	       (SKIP(&code, "\x74", 1) || SKIP(&code, "\x0f\x84", 4)) && /* je child */
	       SKIP(&code, "\xc3", 0);					 /* ret */
}

static bool fill_clone(struct cfi_table *t, const struct elf64 *elf, uint64_t vaddr, uint64_t end)
{
	struct cfi_row rows[] = { { vaddr, { .kind = UNWIND_SP, .cfa_off = 8 } },
				  { vaddr + 2, { .kind = UNWIND_CLONE } } };
	bool is_one = false;
	Elf64_Phdr load;
	uint8_t *bytes;

	if (elf64_find_load(elf, vaddr, &load))
		return false;
	bytes = elf64_read(elf, load.p_offset + (vaddr - load.p_vaddr), end - vaddr,
			   CLONE_MAX_BYTES);
	if (bytes)
		is_one = is_clone((struct code){ bytes, end - vaddr });
	if (is_one)
		cfi_fill_gap(t, rows, ARRAY_SIZE(rows), end);
	free(bytes);
	return is_one;
}

/*
 * Fills gaps that are followed by an UNWIND_END row: after clone's system call comes the child's
 * code, described as having no caller. Each insertion moves the remaining rows, so their number is
 * limited.
 */
static void fill_clones(struct cfi_table *t, const struct elf64 *elf)
{
	int n = 0;

	for (size_t i = 1; t->n_ends && i < t->count && n < MAX_CLONES; i++) {
		struct cfi_row row = cfi_row(t, i - 1), next = cfi_row(t, i);

		if (row.rule.kind == UNWIND_GAP && next.rule.kind == UNWIND_END &&
		    next.vaddr - row.vaddr <= CLONE_MAX_BYTES)
			n += fill_clone(t, elf, row.vaddr, next.vaddr);
	}
}

/* ---- arm64 ---- */

#define PLT_FIRST_BYTES 32	    /* size of the first PLT entry, the target of the other ones */
#define STP_X16_X30	0xa9bf7bf0U /* stp x16, x30, [sp, #-16]! */

/*
 * Fills the PLT (AAELF64, 9.6.3). Only the first entry uses the stack, after "bti c", if present;
 * static programs have no such entry.
 */
static void fill_plt(struct cfi_table *t, const struct elf64 *elf)
{
	struct cfi_row rows[3] = { { .rule = { .kind = UNWIND_SP,
					       .extra_place = UNWIND_RA_IN_LINK } } };
	uint32_t *code;
	Elf64_Shdr plt;
	size_t n = 1;

	if (elf64_find_section(elf, ".plt", &plt) || plt.sh_size < PLT_FIRST_BYTES)
		return;
	code = elf64_read(elf, plt.sh_offset, 2 * sizeof(*code), 2 * sizeof(*code));
	if (!code)
		return;
	rows[0].vaddr = plt.sh_addr;
	if (code[0] == STP_X16_X30 || code[1] == STP_X16_X30) {
		rows[n] = rows[0];
		rows[n].vaddr += code[0] == STP_X16_X30 ? 4 : 8;
		rows[n].rule.cfa_off = 16;
		rows[n++].rule.extra_place = 1;
		rows[n] = rows[0];
		rows[n++].vaddr += PLT_FIRST_BYTES;
	}
	cfi_fill_gap(t, rows, n, plt.sh_addr + plt.sh_size);
	free(code);
}

void cfi_fill_known_gaps(struct cfi_table *t, const struct elf64 *elf)
{
	if (!t->count)
		return;
	fill_entry(t, elf);
	if (elf->header.e_machine == EM_AARCH64) {
		fill_plt(t, elf);
		musl_fill_gaps(t, elf);
		code_rows_fill_gaps(t, elf);
		return;
	}
	fill_section(t, elf, ".init");
	fill_section(t, elf, ".fini");
	fill_first_gaps(t, elf);
	fill_clones(t, elf);
	musl_fill_gaps(t, elf);
}
