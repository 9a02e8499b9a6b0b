// SPDX-License-Identifier: GPL-2.0-only
/* Rows from the instructions of code that says nothing of its frames: a vdso of arm64, and gaps. */
#include "../symbols/image.h"
#include "rule_text.h"
#include "unwind/cfi_gaps.h"
#include "unwind/code_rows.h"

#define TEXT	  0x300
#define IN_GAP	  SIZE_MAX /* in place of a second function */
#define MAX_INSNS 16

#define RET	   0xd65f03c0U
#define NOP	   0xd503201fU
#define PUSH_32	   0xa9be7bfdU /* stp x29, x30, [sp, #-32]! */
#define POP_32	   0xa8c27bfdU /* ldp x29, x30, [sp], #32 */
#define SAVE_X19   0xf9000bf3U /* str x19, [sp, #16] */
#define SP_DOWN_16 0xd10043ffU /* sub sp, sp, #16 */
#define SP_DOWN_32 0xd10083ffU
#define SP_UP_32   0x910083ffU
#define PUSH_X19   0xa9be53f3U /* stp x19, x20, [sp, #-32]! */
#define POP_X19	   0xa8c253f3U
#define PUSH_D8	   0x6dbe27e8U /* stp d8, d9, [sp, #-32]! */
#define PUSH_TAG   0x69bf23e7U /* stgp x7, x8, [sp, #-32]! */
#define PUSH_ONE   0xf81e0ff3U /* str x19, [sp, #-32]! */
#define POP_ONE	   0xf84207f3U
#define MOV_SP_X7  0x910000ffU
#define TST	   0x721b045fU /* tst w2, #0x60 */
#define CMP	   0x71003c1fU /* cmp w0, #0xf */
#define MOV_X29_SP 0x910003fdU
#define MOV_SP_X29 0x910003bfU
#define ADR_X30	   0x1000001eU
#define REV32_V29  0x6e200bbdU
#define FMOV_X29   0x9e66001dU /* from d0 */
#define BR_X9	   0xd61f0120U
#define SHA512_K   0xd728ae22U /* a constant that looks like a jump at first glance */
#define CBZ(n)	   (0x34000000U | (uint32_t)(n) << 5)
#define B(n)	   (0x14000000U | ((uint32_t)(n)&0x3ffffff))
#define BL(n)	   (0x94000000U | ((uint32_t)(n)&0x3ffffff))

static uint8_t *image;
static size_t size;
static struct cfi_table t;

AFTER_EACH()
{
	cfi_free(&t);
}

/* With a function at the first instruction, and one at the one that is numbered "second". */
static void make(const uint32_t *code, size_t n, size_t second)
{
	Elf64_Sym symbols[2] = { { .st_value = TEXT }, { .st_value = TEXT + second * 4 } };
	const struct image_section sections[] = {
		{ ".text", SHT_PROGBITS, IMAGE_CODE, TEXT, code, n * sizeof(*code), 0 },
		{ ".dynsym", SHT_DYNSYM, SHF_ALLOC, 0, symbols, sizeof(symbols), 0 },
	};

	symbols[0].st_info = symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	image = until_end(image_make(sections, 2, EM_AARCH64, &size));
}

static void load(void)
{
	struct elf64 elf;

	CHECK_EQ(elf64_open_image(&elf, image, size), 0);
	code_rows_fill_image(&t, &elf);
}

/*
 * Returns the stack's state before an instruction: o, outside of a frame; 2, with one of 32 bytes;
 * x, with that at x29; l, of a leaf that has moved sp by 32 bytes; -, nothing.
 */
static char state_at(size_t i)
{
	struct unwind_rule rule = cfi_find(&t, TEXT + i * sizeof(uint32_t));
	const struct unwind_rule outside = { .kind = UNWIND_SP, .extra_place = UNWIND_RA_IN_LINK };
	const struct unwind_rule framed = { .kind = UNWIND_SP,
					    .cfa_off = 32,
					    .bp_kind = UNWIND_BP_AT_CFA,
					    .bp_off = -4,
					    .extra_place = UNWIND_RA_BEHIND_BP };
	struct unwind_rule by_x29 = framed, leaf = outside;

	by_x29.kind = UNWIND_BP;
	leaf.cfa_off = 32;
	if (!memcmp(&rule, &leaf, sizeof(rule)))
		return 'l';
	if (!memcmp(&rule, &by_x29, sizeof(rule)))
		return 'x';
	if (!memcmp(&rule, &outside, sizeof(rule)))
		return 'o';
	if (!memcmp(&rule, &framed, sizeof(rule)))
		return '2';
	return rule.kind == UNWIND_GAP ? '-' : '?';
}

/* Its code is a gap in the table, or all of it is an image without one. */
static void load_gap(size_t n)
{
	const uint64_t end = TEXT + n * sizeof(uint32_t);
	const struct unwind_rule ends = { .kind = UNWIND_END }, gap = { .kind = UNWIND_GAP };
	struct elf64 elf;

	cfi_append(&t, TEXT - 4, &ends);
	cfi_append(&t, TEXT, &gap);
	cfi_append(&t, end + 4, &ends);
	cfi_append(&t, end + 8, &gap);
	CHECK_EQ(elf64_open_image(&elf, image, size), 0);
	code_rows_fill_gaps(&t, &elf);
	CHECK_EQ(cfi_find(&t, end + 4).kind, UNWIND_END);
}

static void check_states(const uint32_t *code, size_t n, size_t second, const char *want)
{
	char got[MAX_INSNS + 2] = "";

	cfi_free(&t);
	make(code, second == IN_GAP ? MAX_INSNS : n, second == IN_GAP ? 0 : second);
	if (second == IN_GAP)
		load_gap(n);
	else
		load();
	for (size_t i = 0; i <= n; i++)
		got[i] = state_at(i);
	CHECK_STR(got, want);
}

static const struct {
	size_t second; /* where another function begins, or IN_GAP */
	const char *states;
	uint32_t code[MAX_INSNS]; /* as many as there are states, but for the end's */
} cases[] = {
	/* without a frame they leave the stack alone */
	{ 0, "ooooooo-", { CMP, TST, CBZ(3), NOP, RET, NOP, B(-4) } },
	/* what no function leads to is a gap */
	{ 0, "oo---", { NOP, RET, NOP, NOP } },
	{ 3, "oo-oo-", { NOP, RET, NOP, NOP, RET } },
	/* a frame is there from its making to its end */
	{ 0, "oo222o-", { NOP, PUSH_32, SAVE_X19, NOP, POP_32, RET } },
	/* jumps carry it along: an early return, a part behind the return that belongs to it */
	{ 0, "oo22oo22-", { CBZ(5), PUSH_32, CBZ(4), POP_32, RET, RET, NOP, B(-4) } },
	/* calls begin without one and come back to one */
	{ 0, "o22oo-", { PUSH_32, BL(3), POP_32, RET, RET } },
	/* a call without a frame loses the way: the return address was in x30 */
	{ 0, "o---o-", { BL(4), NOP, RET, NOP, RET } },
	/* another use of the stack pointer is not guessed at */
	{ 0, "oo---", { NOP, MOV_SP_X7, NOP, RET } },
	{ 0, "-----", { NOP, SP_DOWN_16, NOP, RET } }, /* it never comes back */
	{ 0, "o2---", { PUSH_32, SP_DOWN_16, POP_32, RET } },
	{ 0, "oo--", { NOP, POP_32, RET } }, /* there was none */
	/* a leaf may move it by numbers, until it calls something */
	{ 0, "ollo-", { PUSH_X19, CMP, POP_X19, RET } },
	{ 0, "ollo-", { SP_DOWN_32, CMP, SP_UP_32, RET } },
	{ 0, "ollo-", { PUSH_D8, CMP, SP_UP_32, RET } },
	{ 0, "ollo-", { PUSH_TAG, CMP, SP_UP_32, RET } },
	{ 0, "ollo-", { PUSH_ONE, CMP, POP_ONE, RET } },
	{ IN_GAP, "oolollo-", { CBZ(6), PUSH_X19, POP_X19, PUSH_X19, NOP, POP_X19, RET } },
	{ 0, "ol----", { PUSH_X19, BL(40), NOP, POP_X19, RET } },
	{ 0, "ol----", { PUSH_X19, MOV_X29_SP, NOP, POP_X19, RET } },
	{ 0, "ol----", { PUSH_X19, MOV_SP_X7, NOP, POP_X19, RET } },
	/* what is reached in two ways is not known */
	{ 0, "oo---", { CBZ(2), PUSH_32, NOP, RET } },
	/* the signal trampoline is left to those who know it */
	{ 2, "oo---", { NOP, RET, 0xd2801168, 0xd4000001 } },
	/* in gaps functions begin behind what ends a path */
	{ IN_GAP,
	  "ooooo-o22o-o-",
	  { CMP, CBZ(3), CMP, RET, RET, NOP, PUSH_32, CMP, POP_32, RET, 0, RET } },
	/* a frame at x29 bears other uses of the stack pointer */
	{ IN_GAP,
	  "o2xxxxxo-",
	  { PUSH_32, MOV_X29_SP, SP_DOWN_16, REV32_V29, BL(40), MOV_SP_X29, POP_32, RET } },
	{ IN_GAP, "o2xx-----", { PUSH_32, MOV_X29_SP, NOP, FMOV_X29, NOP, NOP, POP_32, RET } },
	/* a return address that is overwritten is lost */
	{ IN_GAP, "ooo------", { CMP, CMP, ADR_X30, NOP, NOP, NOP, NOP, RET } },
	/* a gap with computed jumps stays one */
	{ IN_GAP, "---------", { PUSH_32, MOV_X29_SP, BR_X9, NOP, NOP, POP_32, RET, NOP } },
	{ IN_GAP, "oooooo-o-", { CMP, NOP, NOP, NOP, NOP, BR_X9, NOP, RET } },
	{ IN_GAP, "o22222o--", { PUSH_32, CMP, SHA512_K, NOP, NOP, POP_32, RET, NOP } },
	/* a last call that never returns, and the next function behind it: neither is told */
	{ IN_GAP,
	  "-------o-",
	  { PUSH_32, MOV_X29_SP, BL(40), PUSH_32, MOV_X29_SP, POP_32, RET, RET } },
	{ IN_GAP, "-------o-", { PUSH_32, MOV_X29_SP, BL(40), CMP, CMP, CMP, RET, RET } },
	/* the space between functions stays as it is */
	{ IN_GAP, "-----", { NOP, NOP, NOP, RET } },
};

TEST(the_stack_is_known_before_each_instruction)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_states(cases[i].code, strlen(cases[i].states) - 1, cases[i].second,
			     cases[i].states);
}

TEST(other_machines_and_tables_that_have_rows_stay_as_they_are)
{
	const uint32_t code[] = { RET };

	make(code, ARRAY_SIZE(code), 0);
	load();
	CHECK_EQ(t.count, 2);
	load();
	CHECK_EQ(t.count, 2);
	cfi_free(&t);
	((Elf64_Ehdr *)image)->e_machine = EM_X86_64;
	load();
	CHECK_EQ(t.count, 0);
}

TEST(code_without_a_file_has_rows_from_its_beginning)
{
	const uint32_t code[] = { PUSH_32, MOV_X29_SP, POP_32, RET, CMP, RET };

	code_rows_fill_code(&t, (const uint8_t *)code, sizeof(code));
	CHECK_EQ(cfi_find(&t, 0).extra_place, UNWIND_RA_IN_LINK);
	CHECK_EQ(cfi_find(&t, 4).cfa_off, 32);
	CHECK_EQ(cfi_find(&t, 8).kind, UNWIND_BP);
	CHECK_EQ(cfi_find(&t, 12).cfa_off, 0);
	CHECK_EQ(cfi_find(&t, 16).extra_place, UNWIND_RA_IN_LINK);
	CHECK_EQ(cfi_find(&t, sizeof(code)).kind, UNWIND_GAP);
}

/* Unrolled loops that copy or fill memory are jumped into. */
TEST(code_after_a_computed_jump_in_a_frame_is_in_the_frame)
{
	const uint32_t code[] = { PUSH_32, MOV_X29_SP, BR_X9, CMP, POP_32, RET, CMP, BR_X9, CMP };

	code_rows_fill_code(&t, (const uint8_t *)code, sizeof(code));
	CHECK_EQ(cfi_find(&t, 12).kind, UNWIND_BP);
	CHECK_EQ(cfi_find(&t, 20).extra_place, UNWIND_RA_IN_LINK);
	CHECK_EQ(cfi_find(&t, 32).extra_place, UNWIND_RA_IN_LINK);
}

/* Returns the rows of code in which one function has some, those of an outermost frame. */
static const char *rows_around(uint16_t machine, const void *code, size_t bytes, uint32_t first)
{
	const Elf64_Sym imports[] = { { .st_info = STT_FUNC } },
			symbols[] = { { .st_info = STT_FUNC, .st_value = TEXT + 16 },
				      { .st_info = STT_FUNC, .st_value = TEXT + 48 } };
	const struct image_section sections[] = {
		{ ".text", SHT_PROGBITS, IMAGE_CODE, TEXT, code, bytes, 0 },
		{ ".dynsym", SHT_DYNSYM, SHF_ALLOC, 0, imports, sizeof(imports), 0 },
		{ ".symtab", SHT_SYMTAB, 0, 0, symbols, sizeof(symbols), 0 },
	};
	const struct unwind_rule ends = { .kind = UNWIND_END }, gap = { .kind = UNWIND_GAP };
	struct elf64 elf;

	image = until_end(image_make(sections, ARRAY_SIZE(sections), machine, &size));
	CHECK_EQ(elf64_open_image(&elf, image, size), 0);
	cfi_free(&t);
	cfi_append(&t, TEXT + first, &ends);
	cfi_append(&t, TEXT + first + 16, &gap);
	cfi_fill_known_gaps(&t, &elf);
	return PRINTED(f, print_rows(f, &t, TEXT, bytes));
}

/* Go's linker drops the .eh_frame of C. */
TEST(code_before_the_first_row_and_after_the_last_is_followed)
{
	/* xor %eax,%eax; ret; 16: push %rbx; call far away; pop %rbx; ret; 32; 48: as 16 */
	static const char x86[64] = "\x31\xc0\xc3\0\0\0\0\0\0\0\0\0\0\0\0\0"
				    "\x53\xe8\0\0\1\0\x5b\xc3\0\0\0\0\0\0\0\0"
				    "\x90\x90\x90\x90\0\0\0\0\0\0\0\0\0\0\0\0"
				    "\x53\xe8\0\0\1\0\x5b\xc3";
	static const uint32_t arm64[24] = {
		PUSH_32, MOV_X29_SP, POP_32, RET, [8] = NOP, [12] = PUSH_32, MOV_X29_SP, POP_32, RET
	};

	CHECK_STR(rows_around(EM_X86_64, x86, sizeof(x86), 32),
		  "sp+8; 3 -; 10 sp+8; 11 sp+16; 17 sp+8; 18 -; 20 end; "
		  "30 sp+8; 31 sp+16; 37 sp+8; 38 -");
	CHECK_STR(rows_around(EM_AARCH64, arm64, sizeof(arm64), 32),
		  "sp+0 bx@cfa-504; 4 sp+32 bp@cfa-4; 8 bp+32 bp@cfa-4; c sp+0 bx@cfa-504; 10 -; "
		  "20 end; 30 sp+0 bx@cfa-504; 34 sp+32 bp@cfa-4; 38 bp+32 bp@cfa-4; "
		  "3c sp+0 bx@cfa-504; 40 -");
}

/* As a hostile file may say. */
TEST(the_gaps_of_a_segment_of_the_largest_size_are_finite)
{
	static const char code[64];
	struct cfi_gap gap = { .end = 0 };
	struct elf64 elf;
	Elf64_Phdr *load;
	int n = 0;

	rows_around(EM_X86_64, code, sizeof(code), 16);
	load = (Elf64_Phdr *)(image + ((Elf64_Ehdr *)image)->e_phoff);
	CHECK(load->p_type == PT_LOAD && load->p_flags & PF_X);
	load->p_filesz = UINT64_MAX;
	CHECK_EQ(elf64_open_image(&elf, image, size), 0);
	while (n < 100 && cfi_next_gap(&t, &elf, 1, &gap))
		n++;
	CHECK(n > 0 && n < 100);
}

/* A function of makecontext(3) returns to 16: code with a rule, without a caller. */
static const char *rows_before_context(uint16_t machine, const void *code)
{
	const struct image_section sections[] = {
		{ ".text", SHT_PROGBITS, IMAGE_CODE, TEXT, code, 32, 0 },
	};
	const struct unwind_rule has_caller = { .kind = UNWIND_SP, .cfa_off = 8 }, gap = {};
	struct elf64 elf;

	image = until_end(image_make(sections, ARRAY_SIZE(sections), machine, &size));
	((Elf64_Ehdr *)image)->e_entry = TEXT;
	CHECK_EQ(elf64_open_image(&elf, image, size), 0);
	cfi_free(&t);
	cfi_append(&t, TEXT, &has_caller);
	cfi_append(&t, TEXT + 8, &gap);
	cfi_append(&t, TEXT + 16, &has_caller);
	cfi_append(&t, TEXT + 32, &gap);
	cfi_fill_known_gaps(&t, &elf);
	return PRINTED(f, print_rows(f, &t, TEXT, 32));
}

TEST(what_a_context_of_makecontext_returns_to_has_no_caller)
{
	static const char plain[32] = "16 bytes before\0\x48\x89\xdc\x48\x8b\x3c\x24",
			  shadow[32] = "16 bytes before\0\xf3\x0f\x1e\xfa"
				       "\x48\x89\xdc\x64\xf7\x04\x25\x48",
			  array[32] = "16 bytes before\0\x48\x89\xdc\x48\x8b\x45\xd8\x48";
	const uint32_t nop[8] = { RET, [4] = NOP, 0xaa1303e0, 0xb5fff9c0, 0x17fff552 },
		       bti[8] = { RET, [4] = 0xd503245f, 0xaa1303e0, 0xb5000060, 0x14000000 },
		       other[8] = { RET, [4] = NOP, 0xaa1303e0, 0xb4000060, 0x14000000 };

	CHECK_STR(rows_before_context(EM_X86_64, plain), "sp+8; 8 -; f end; 10 sp+8");
	CHECK_STR(rows_before_context(EM_X86_64, shadow), "sp+8; 8 -; f end; 10 sp+8");
	CHECK_STR(rows_before_context(EM_X86_64, array), "sp+8; 8 -; 10 sp+8");
	CHECK_STR(rows_before_context(EM_AARCH64, nop), "sp+8; 8 -; f end; 10 sp+8");
	CHECK_STR(rows_before_context(EM_AARCH64, bti), "sp+8; 8 -; f end; 10 sp+8");
	CHECK_STR(rows_before_context(EM_AARCH64, other), "sp+8; 8 -; 10 sp+8");
}
