// SPDX-License-Identifier: GPL-2.0-only
/* Rows from the instructions of arm64 code that says nothing of its frames: a vdso, and gaps. */
#include "unit.h"
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

static const char names[] = "\0.text\0.dynsym\0.shstrtab";

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr load;
	Elf64_Shdr sections[4];
	char names[sizeof(names)];
	Elf64_Sym symbols[2];
	uint32_t code[MAX_INSNS];
};

static void add_section(struct image *m, size_t i, uint32_t name, size_t offset, size_t bytes)
{
	m->sections[i].sh_name = name;
	m->sections[i].sh_type = i == 3 ? SHT_STRTAB : SHT_PROGBITS;
	m->sections[i].sh_offset = offset;
	m->sections[i].sh_size = bytes;
}

/* With a function at the first instruction, and one at the one that is numbered "second". */
static struct image make(const uint32_t *code, size_t n, size_t second)
{
	struct image m = { .header = { .e_type = ET_DYN,
				       .e_machine = EM_AARCH64,
				       .e_phoff = offsetof(struct image, load),
				       .e_phentsize = sizeof(Elf64_Phdr),
				       .e_phnum = 1,
				       .e_shoff = offsetof(struct image, sections),
				       .e_shentsize = sizeof(Elf64_Shdr),
				       .e_shnum = 4,
				       .e_shstrndx = 3 } };

	memcpy(m.header.e_ident, ELFMAG, SELFMAG);
	m.header.e_ident[EI_CLASS] = ELFCLASS64;
	m.header.e_ident[EI_DATA] = ELFDATA2LSB;
	m.header.e_ident[EI_VERSION] = EV_CURRENT;
	m.load = (Elf64_Phdr){ .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_offset = offsetof(struct image, code),
			       .p_vaddr = TEXT,
			       .p_filesz = sizeof(m.code),
			       .p_memsz = sizeof(m.code) };
	memcpy(m.names, names, sizeof(names));
	memcpy(m.code, code, n * sizeof(*code));
	add_section(&m, 1, 1, offsetof(struct image, code), n * sizeof(*code));
	m.sections[1].sh_addr = TEXT;
	add_section(&m, 2, 7, offsetof(struct image, symbols), sizeof(m.symbols));
	add_section(&m, 3, 15, offsetof(struct image, names), sizeof(names));
	for (size_t i = 0; i < 2; i++) {
		m.symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		m.symbols[i].st_value = TEXT + (i ? second : 0) * sizeof(*code);
	}
	return m;
}

static struct cfi_table load(const struct image *m)
{
	struct cfi_table t = { .cells = NULL };
	struct elf64 elf;

	CHECK_EQ(elf64_open_image(&elf, m, sizeof(*m)), 0);
	code_rows_fill_image(&t, &elf);
	return t;
}

/*
 * What is known of the stack before an instruction: o, outside of a frame; 2, with one of 32 bytes;
 * x, with that at x29; l, of a leaf that has moved sp by 32 bytes; -, nothing.
 */
static char state_at(const struct cfi_table *t, size_t i)
{
	struct unwind_rule rule = cfi_find(t, TEXT + i * sizeof(uint32_t));
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
static struct cfi_table load_gap(const struct image *m, size_t n)
{
	const uint64_t end = TEXT + n * sizeof(uint32_t);
	const struct unwind_rule ends = { .kind = UNWIND_END }, gap = { .kind = UNWIND_GAP };
	struct cfi_table t = {};
	struct elf64 elf;

	cfi_append(&t, TEXT - 4, &ends);
	cfi_append(&t, TEXT, &gap);
	cfi_append(&t, end + 4, &ends);
	cfi_append(&t, end + 8, &gap);
	CHECK_EQ(elf64_open_image(&elf, m, sizeof(*m)), 0);
	code_rows_fill_gaps(&t, &elf);
	CHECK_EQ(cfi_find(&t, end + 4).kind, UNWIND_END);
	return t;
}

static bool has_states(const uint32_t *code, size_t n, size_t second, const char *want)
{
	struct image m = make(code, n, second == IN_GAP ? 0 : second);
	struct cfi_table t = second == IN_GAP ? load_gap(&m, n) : load(&m);
	char got[MAX_INSNS + 2] = "";

	for (size_t i = 0; i <= n; i++)
		got[i] = state_at(&t, i);
	cfi_free(&t);
	if (strcmp(got, want))
		fprintf(stderr, "states %s, expected %s\n", got, want);
	return !strcmp(got, want);
}

#define HAS_STATES(second, want, ...)                 \
	has_states((const uint32_t[]){ __VA_ARGS__ }, \
		   sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), second, want)

TEST(functions_without_a_frame_leave_the_stack_alone)
{
	CHECK(HAS_STATES(0, "ooooooo-", CMP, TST, CBZ(3), NOP, RET, NOP, B(-4)));
}

TEST(what_no_function_leads_to_is_a_gap)
{
	CHECK(HAS_STATES(0, "oo---", NOP, RET, NOP, NOP));
	CHECK(HAS_STATES(3, "oo-oo-", NOP, RET, NOP, NOP, RET));
}

TEST(a_frame_is_there_from_its_making_to_its_end)
{
	CHECK(HAS_STATES(0, "oo222o-", NOP, PUSH_32, SAVE_X19, NOP, POP_32, RET));
}

/* An early return, and a part behind the return that belongs to the frame. */
TEST(jumps_carry_the_frame_along)
{
	CHECK(HAS_STATES(0, "oo22oo22-", CBZ(5), PUSH_32, CBZ(4), POP_32, RET, RET, NOP, B(-4)));
}

TEST(calls_begin_without_a_frame_and_come_back_to_one)
{
	CHECK(HAS_STATES(0, "o22oo-", PUSH_32, BL(3), POP_32, RET, RET));
}

/* The return address was in x30. */
TEST(a_call_without_a_frame_loses_the_way)
{
	CHECK(HAS_STATES(0, "o---o-", BL(4), NOP, RET, NOP, RET));
}

TEST(another_use_of_the_stack_pointer_is_not_guessed_at)
{
	CHECK(HAS_STATES(0, "oo---", NOP, MOV_SP_X7, NOP, RET));
	CHECK(HAS_STATES(0, "-----", NOP, SP_DOWN_16, NOP, RET)); /* it never comes back */
	CHECK(HAS_STATES(0, "o2---", PUSH_32, SP_DOWN_16, POP_32, RET));
	CHECK(HAS_STATES(0, "oo--", NOP, POP_32, RET)); /* there was none */
}

/* Until it calls something. */
TEST(a_leaf_may_move_the_stack_pointer_by_numbers)
{
	CHECK(HAS_STATES(0, "ollo-", PUSH_X19, CMP, POP_X19, RET));
	CHECK(HAS_STATES(0, "ollo-", SP_DOWN_32, CMP, SP_UP_32, RET));
	CHECK(HAS_STATES(0, "ollo-", PUSH_D8, CMP, SP_UP_32, RET));
	CHECK(HAS_STATES(0, "ollo-", PUSH_ONE, CMP, POP_ONE, RET));
	CHECK(HAS_STATES(IN_GAP, "oolollo-", CBZ(6), PUSH_X19, POP_X19, PUSH_X19, NOP, POP_X19,
			 RET));
	CHECK(HAS_STATES(0, "ol----", PUSH_X19, BL(40), NOP, POP_X19, RET));
	CHECK(HAS_STATES(0, "ol----", PUSH_X19, MOV_X29_SP, NOP, POP_X19, RET));
	CHECK(HAS_STATES(0, "ol----", PUSH_X19, MOV_SP_X7, NOP, POP_X19, RET));
}

TEST(what_is_reached_in_two_ways_is_not_known)
{
	CHECK(HAS_STATES(0, "oo---", CBZ(2), PUSH_32, NOP, RET));
}

TEST(the_signal_trampoline_is_left_to_those_who_know_it)
{
	CHECK(HAS_STATES(2, "oo---", NOP, RET, 0xd2801168, 0xd4000001));
}

TEST(other_machines_and_tables_that_have_rows_stay_as_they_are)
{
	const uint32_t code[] = { RET };
	struct image m = make(code, ARRAY_SIZE(code), 0);
	struct cfi_table t = load(&m);
	struct elf64 elf;

	CHECK_EQ(t.count, 2);
	CHECK_EQ(elf64_open_image(&elf, &m, sizeof(m)), 0);
	code_rows_fill_image(&t, &elf);
	CHECK_EQ(t.count, 2);
	cfi_free(&t);
	m.header.e_machine = EM_X86_64;
	t = load(&m);
	CHECK_EQ(t.count, 0);
}

TEST(in_gaps_functions_begin_behind_what_ends_a_path)
{
	CHECK(HAS_STATES(IN_GAP, "ooooo-o22o-o-", CMP, CBZ(3), CMP, RET, RET, NOP, PUSH_32, CMP,
			 POP_32, RET, 0, RET));
}

/* What is not known by sp, x29 may tell. */
TEST(a_frame_at_x29_bears_other_uses_of_the_stack_pointer)
{
	CHECK(HAS_STATES(IN_GAP, "o2xxxxxo-", PUSH_32, MOV_X29_SP, SP_DOWN_16, REV32_V29, BL(40),
			 MOV_SP_X29, POP_32, RET));
	CHECK(HAS_STATES(IN_GAP, "o2xx-----", PUSH_32, MOV_X29_SP, NOP, FMOV_X29, NOP, NOP, POP_32,
			 RET));
}

TEST(a_return_address_that_is_overwritten_is_lost)
{
	CHECK(HAS_STATES(IN_GAP, "ooo------", CMP, CMP, ADR_X30, NOP, NOP, NOP, NOP, RET));
}

TEST(a_gap_with_computed_jumps_stays_one)
{
	CHECK(HAS_STATES(IN_GAP, "---------", PUSH_32, MOV_X29_SP, BR_X9, NOP, NOP, POP_32, RET,
			 NOP));
	CHECK(HAS_STATES(IN_GAP, "oooooo-o-", CMP, NOP, NOP, NOP, NOP, BR_X9, NOP, RET));
	CHECK(HAS_STATES(IN_GAP, "o22222o--", PUSH_32, CMP, SHA512_K, NOP, NOP, POP_32, RET, NOP));
}

/* The last call of a function never returns, and the next one is behind it: neither is told. */
TEST(what_contradicts_itself_is_not_known)
{
	CHECK(HAS_STATES(IN_GAP, "-------o-", PUSH_32, MOV_X29_SP, BL(40), PUSH_32, MOV_X29_SP,
			 POP_32, RET, RET));
	CHECK(HAS_STATES(IN_GAP, "-------o-", PUSH_32, MOV_X29_SP, BL(40), CMP, CMP, CMP, RET,
			 RET));
}

TEST(the_space_between_functions_stays_as_it_is)
{
	CHECK(HAS_STATES(IN_GAP, "-----", NOP, NOP, NOP, RET));
}
