// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind tables and walks of arm64, on any machine: rules from call frame information that is made
 * up here, and frames in memory that is.
 */
#include "../cfi/image.h"
#include "unit.h"
#include "unwind/cfi.h"
#include "unwind/cfi_gaps.h"

#undef __x86_64__ /* what is included from here on */
#include "walk_memory.h"

#define TEXT	   0x1000
#define TEXT_BYTES 0x100

/* ---- tables ---- */

/* CFA = sp, code in units of 4 bytes, data in units of -8, the return address in x30. */
static const uint8_t cie[] = { 20, 0,	 0,  0, 0,    0,    0,	0, 1, 'z', 'R', 0,
			       4,  0x78, 30, 1, 0x1b, 0x0c, 31, 0, 0, 0,   0,	0 };

/* The length of the rules at the CIE's end. */
#define START_BYTES 7

static struct cfi_table load_from(const uint8_t *start, const uint8_t *program, size_t n)
{
	uint8_t bytes[256] = {};
	uint32_t fde[] = { (uint32_t)(13 + n), sizeof(cie) + 4,
			   TEXT - (uint32_t)(IMAGE_EH_FRAME_VADDR + sizeof(cie) + 8), TEXT_BYTES };
	struct cfi_table t;
	struct image *m;
	size_t size;

	memcpy(bytes, cie, sizeof(cie));
	memcpy(bytes + sizeof(cie) - START_BYTES, start, START_BYTES);
	memcpy(bytes + sizeof(cie), fde, sizeof(fde));
	memcpy(bytes + sizeof(cie) + sizeof(fde) + 1, program, n);
	m = image_new(bytes, sizeof(cie) + sizeof(fde) + 1 + n, &size);
	m->header.e_machine = EM_AARCH64;
	CHECK_EQ(image_load(&t, m, size), 0);
	free(m);
	return t;
}

static struct cfi_table load(const uint8_t *program, size_t n)
{
	return load_from(cie + sizeof(cie) - START_BYTES, program, n);
}

static struct unwind_rule rule_at(const struct cfi_table *t, uint32_t offset)
{
	return cfi_find(t, TEXT + offset);
}

#define RULE(...) ((struct unwind_rule){ __VA_ARGS__ })
#define IN_LINK	  .kind = UNWIND_SP, .extra_place = UNWIND_RA_IN_LINK
#define PAIR_AT_4 .bp_kind = UNWIND_BP_AT_CFA, .bp_off = -4, .extra_place = UNWIND_RA_BEHIND_BP

static const struct {
	uint8_t program[16];
	struct {
		uint32_t offset;
		struct unwind_rule rule;
	} rules[4]; /* behind the first one, at 0 is the end */
} programs[] = {
	/* stp x29, x30, [sp, #-32]!; mov x29, sp; ...; ldp x29, x30, [sp], #32; ret */
	{ { 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x0d, 29, 0x50, 0xde, 0xdd, 0x0c, 31, 0 },
	  { { 0, { IN_LINK } },
	    { 4, { .kind = UNWIND_SP, .cfa_off = 32, PAIR_AT_4 } },
	    { 8, { .kind = UNWIND_BP, .cfa_off = 32, PAIR_AT_4 } },
	    { 72, { IN_LINK } } } },
	/* a return address saved elsewhere has its own offset */
	{ { 0x41, 0x0e, 16, 0x9e, 2, 0x41, 0x0e, 48, 0x9d, 6 },
	  { { 0, { IN_LINK } },
	    { 4, { .kind = UNWIND_SP, .cfa_off = 16, .extra_place = 2 } },
	    { 8,
	      { .kind = UNWIND_SP,
		.cfa_off = 48,
		.extra_place = 2,
		.bp_kind = UNWIND_BP_AT_CFA,
		.bp_off = -6 } } } },
	/* bti c; stp x8, x9, [sp, #-208]!, where a PLT has pushed x16 and x30 */
	{ { 0x41, 0x11, 30, 0x7f, 0x41, 0x0e, 0xd0, 1 },
	  { { 0, { .cfa_off = 16, IN_LINK } },
	    { 4, { .kind = UNWIND_SP, .cfa_off = 16, .extra_place = 1 } },
	    { 8, { .kind = UNWIND_SP, .cfa_off = 224, .extra_place = 1 } } } },
	/* far away, it has the offset that x29 does not need */
	{ { 0x41, 0x9e, 63, 0x41, 0x9e, 62, 0x41, 0x9e, 0xff, 0x1f },
	  { { 0, { IN_LINK } },
	    { 4, { .kind = UNWIND_SP, .bp_off = -64 } },
	    { 8, { .kind = UNWIND_SP, .extra_place = 62 } },
	    { 12, { .kind = UNWIND_SP, .bp_off = -4096 } } } },
	/* a place that no rule can name */
	{ { 0x41, 0x9d, 100, 0x9e, 63, 0x41, 0xdd, 0x9e, 0x80, 0x80, 0x02 },
	  { { 0, { IN_LINK } }, { 4, { .kind = UNWIND_BAD } }, { 8, { .kind = UNWIND_BAD } } } },
	/* no return address ends the stack */
	{ { 0x07, 30 }, { { 0, { .kind = UNWIND_END } } } },
	/* signing a return address changes no rule */
	{ { 0x41, 0x2d, 0x41, 0x2c }, { { 0, { IN_LINK } }, { 8, { IN_LINK } } } },
};

static void check_rule(const struct cfi_table *t, uint32_t offset, struct unwind_rule want)
{
	struct unwind_rule got = rule_at(t, offset);

	if (memcmp(&want, &got, sizeof(want)))
		UNIT_FAIL("at %u: kind %d, cfa %d, bp %d %d, extra %d", offset, got.kind,
			  got.cfa_off, got.bp_kind, got.bp_off, got.extra_place);
}

TEST(functions_save_what_they_return_to)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct cfi_table t = load(programs[i].program, sizeof(programs[i].program));

		for (size_t j = 0; j < 4 && (!j || programs[i].rules[j].offset); j++)
			check_rule(&t, programs[i].rules[j].offset, programs[i].rules[j].rule);
		check_rule(&t, TEXT_BYTES, RULE(.kind = UNWIND_GAP));
		CHECK(i + 1 < ARRAY_SIZE(programs) || t.count == 2);
		cfi_free(&t);
	}
}

/* The assembler makes what is said where a .cold part begins a CIE of its own. */
TEST(restore_means_not_saved_whatever_the_cie_said)
{
	const uint8_t both_saved[START_BYTES] = { 0x0c, 31, 32, 0x9d, 4, 0x9e, 3 };
	const uint8_t program[] = { 0x41, 0xde, 0xdd, 0x0e, 0 };
	struct cfi_table t = load_from(both_saved, program, sizeof(program));

	check_rule(&t, 0, RULE(.kind = UNWIND_SP, .cfa_off = 32, PAIR_AT_4));
	check_rule(&t, 4, RULE(IN_LINK));
	cfi_free(&t);
}

/* ---- walks ---- */

#define SIGNED(addr) ((addr) | 0x35ULL << 48)

/* In a leaf, whose stack begins at word 0. */
static struct unwind_state begin(void)
{
	struct unwind_state s = {
		.regs = { .ip = 0x1000, .sp = address(0), .bp = address(8), .link = SIGNED(0x2000) }
	};

	memset(memory, 0, sizeof(memory));
	unwind_begin(&s);
	return s;
}

static const struct unwind_rule leaf = { IN_LINK };

TEST(a_leaf_returns_by_its_register_once)
{
	struct unwind_state s = begin();

	CHECK_EQ(unwind_by_rule(&s, &leaf), UNWIND_GOES_ON);
	check_regs(&s, 0x2000, address(0), address(8));
	CHECK_EQ(unwind_by_rule(&s, &leaf), UNWIND_BAD_RULE);
}

TEST(a_frame_returns_by_what_it_saved)
{
	const struct unwind_rule pair = {
		.kind = UNWIND_BP, .cfa_off = 32, .bp_kind = UNWIND_BP_AT_CFA, .bp_off = -4
	};
	const struct unwind_rule own = { .kind = UNWIND_SP, .cfa_off = 48, .extra_place = 2 };
	const struct unwind_rule far = { .kind = UNWIND_SP, .cfa_off = 800, .bp_off = -90 };
	struct unwind_state s = begin();

	memory[8] = address(20);
	memory[9] = SIGNED(0x3000);
	CHECK_EQ(unwind_by_rule(&s, &pair), UNWIND_GOES_ON);
	check_regs(&s, 0x3000, address(12), address(20));
	memory[16] = 0x4000; /* the CFA is at word 18 */
	CHECK_EQ(unwind_by_rule(&s, &own), UNWIND_GOES_ON);
	check_regs(&s, 0x4000, address(18), address(20));
	memory[29] = 0x5000; /* the CFA is at word 118 */
	CHECK_EQ(unwind_by_rule(&s, &far), UNWIND_GOES_ON);
	check_regs(&s, 0x5000, address(118), address(20));
}

TEST(a_signal_handler_returns_to_all_registers)
{
	struct unwind_state s = begin();

	s.ip = address(127); /* holds the trampoline's instructions */
	s.ip_is_exact = false;
	memory[127] = UNWIND_SIGRETURN_CODE;
	memory[67] = 0x2828;
	memory[68] = 0x1111;
	memory[69] = 0x2222;
	memory[70] = address(100);
	memory[71] = 0x5000;
	CHECK_EQ(unwind_by_code(&s), UNWIND_GOES_ON);
	check_regs(&s, 0x5000, address(100), 0x1111);
	CHECK_EQ(s.regs.x[28], 0x2828);
	CHECK(s.ip_is_exact && s.is_behind_signal);
	CHECK_EQ(unwind_by_rule(&s, &leaf), UNWIND_GOES_ON);
	CHECK_EQ(s.ip, 0x2222);
	CHECK_EQ(s.sp, address(100));
}

TEST(other_code_is_no_trampoline)
{
	struct unwind_state s = begin();

	s.ip = address(127);
	memory[127] = UNWIND_SIGRETURN_CODE + 1;
	CHECK_EQ(unwind_by_code(&s), UNWIND_NO_RULE);
	s.ip = address(128);
	CHECK_EQ(unwind_by_code(&s), UNWIND_NO_RULE);
}

TEST(a_cfa_may_be_in_any_register_of_frame_0)
{
	const struct unwind_rule rule = { .kind = UNWIND_REG,
					  .cfa_off = unwind_pack_reg(9, 16),
					  .extra_place = UNWIND_RA_IN_LINK };
	struct unwind_state s = begin();

	s.regs.x[9] = address(30);
	CHECK_EQ(unwind_by_rule(&s, &rule), UNWIND_GOES_ON);
	CHECK_EQ(s.sp, address(32));
	CHECK_EQ(unwind_by_rule(&s, &rule), UNWIND_BAD_RULE);
}

/* ---- Go ---- */

/* On the scheduler's stack: g0 is at word 10, its m at word 20, and the goroutine at word 30. */
static struct unwind_state begin_in_go(void)
{
	struct unwind_state s = begin();

	s.regs.x[28] = address(10);
	memory[12] = address(20);  /* m */
	memory[20] = address(10);  /* m.g0 */
	memory[22] = address(30);  /* m.curg */
	memory[31] = address(100); /* sched.sp, and .pc */
	memory[32] = 0x6000;
	memory[35] = 0x7000; /* sched.lr, and .bp */
	memory[36] = address(110);
	memory[99] = address(120); /* a frame on the goroutine's stack */
	memory[100] = 0x8000;
	return s;
}

#define GO_STACK(how)                                   \
	((struct unwind_rule){ .kind = UNWIND_GO_STACK, \
			       .bp_kind = (how),        \
			       .extra_place = 5,        \
			       .bp_off = 4,             \
			       .cfa_off = unwind_pack_go(16, 8, 16) })

TEST(a_goroutine_is_found_by_x28)
{
	struct unwind_state s = begin_in_go();

	CHECK_EQ(unwind_by_go_rule(&s, &GO_STACK(UNWIND_GO_FRAMED)), UNWIND_GOES_ON);
	check_regs(&s, 0x8000, address(104), address(120));
	s = begin_in_go();
	s.regs.x[28] = address(30); /* coming back: it is the goroutine already */
	memory[32] = address(20);
	CHECK_EQ(unwind_by_go_rule(&s, &GO_STACK(UNWIND_GO_FRAMED)), UNWIND_GOES_ON);
	s = begin_in_go();
	s.regs.x[28] = address(11); /* what C code has left there */
	CHECK_EQ(unwind_by_go_rule(&s, &GO_STACK(UNWIND_GO_FRAMED)), UNWIND_BAD_RULE);
	s = begin_in_go();
	memory[22] = 0;
	CHECK_EQ(unwind_by_go_rule(&s, &GO_STACK(UNWIND_GO_FRAMED)), UNWIND_COMPLETE);
}

/* morestack's caller has no frame yet: its return address is what was in x30. */
TEST(a_goroutine_that_needs_more_stack_has_its_link_register)
{
	struct unwind_state s = begin_in_go();

	CHECK_EQ(unwind_by_go_rule(&s, &GO_STACK(UNWIND_GO_SAVED)), UNWIND_GOES_ON);
	check_regs(&s, 0x6000, address(100), address(110));
	CHECK_EQ(unwind_by_rule(&s, &leaf), UNWIND_GOES_ON);
	CHECK_EQ(s.ip, 0x7000);
}

TEST(c_code_leads_back_to_the_goroutine)
{
	const struct unwind_rule call = { .kind = UNWIND_GO_CALL, .cfa_off = 8, .bp_off = 2 };
	struct unwind_state s = begin();

	memory[1] = address(30); /* g, and how much of its stack is used */
	memory[2] = 8 * 20;
	memory[31] = address(120); /* g.stack.hi */
	memory[99] = address(110);
	memory[100] = 0x8000;
	CHECK_EQ(unwind_by_go_rule(&s, &call), UNWIND_GOES_ON);
	check_regs(&s, 0x8000, address(102), address(110));
	s = begin();
	memory[2] = address(90); /* no g: the stack pointer itself */
	memory[90] = 0x9000;
	CHECK_EQ(unwind_by_go_rule(&s, &call), UNWIND_GOES_ON);
	CHECK_EQ(s.ip, 0x9000);
	CHECK_EQ(s.sp, address(92));
}

TEST(an_interrupted_caller_has_its_link_register)
{
	const struct unwind_rule injected = {
		.kind = UNWIND_SP_EXACT, .cfa_off = 48, .bp_kind = UNWIND_BP_AT_CFA, .bp_off = -7
	};
	struct unwind_state s = begin();

	s.sp = address(10);
	memory[9] = address(40);
	memory[10] = 0x3000;
	memory[14] = 0x4000;
	CHECK_EQ(unwind_go_interrupted(&s, &injected), UNWIND_GOES_ON);
	CHECK_EQ(s.ip, 0x3000);
	CHECK(s.ip_is_exact);
	CHECK_EQ(unwind_by_rule(&s, &leaf), UNWIND_GOES_ON);
	CHECK_EQ(s.ip, 0x4000);
	CHECK_EQ(s.sp, address(16));
}

/* Go's lie one word below the stack pointer. */
TEST(a_frame_record_may_lie_just_below_the_stack_pointer)
{
	struct unwind_frame_record record;
	struct unwind_state s = begin();

	s.sp = address(20);
	s.bp = address(19);
	memory[20] = 0x2000;
	CHECK(unwind_read_frame_record(&s, &record));
	CHECK_EQ(record.return_address, 0x2000);
	s.bp = address(18);
	CHECK(!unwind_read_frame_record(&s, &record));
}
