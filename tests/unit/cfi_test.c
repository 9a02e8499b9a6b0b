// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind tables: each instruction and each form of record on an .eh_frame made to order, broken
 * ones among them; then this very program, whose stack is walked with its tables and compared with
 * what libgcc's unwinder says, and broken copies of it.
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "../cfi/image.h"
#include "base/array.h"
#include "base/clock.h"
#include "unwind/cfi_gaps.h"
#include "unit.h"

#define TEXT	   0x1000
#define TEXT_BYTES 0x100

struct buffer {
	uint8_t bytes[4096];
	size_t n;
};

/* A program's bytes, and how many: PROGRAM(0x41, 0x0e, 16) */
#define PROGRAM(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define NO_PROGRAM   NULL, 0

/* What all compilers start with: CFA = rsp + 8, return address at CFA - 8. */
static const uint8_t usual_start[] = { 0x0c, 7, 8, 0x90, 1 };

static void put(struct buffer *b, const void *bytes, size_t n)
{
	if (n)
		memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
}

static void put_u8(struct buffer *b, uint8_t v)
{
	put(b, &v, sizeof(v));
}

static void put_u32(struct buffer *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void put_u64(struct buffer *b, uint64_t v)
{
	put(b, &v, sizeof(v));
}

/* Returns where the record starts. Its length is filled in by end_record(). */
static size_t begin_record(struct buffer *b, uint32_t id)
{
	size_t at = b->n;

	put_u32(b, 0);
	put_u32(b, id);
	return at;
}

static void end_record(struct buffer *b, size_t at)
{
	uint32_t bytes = b->n - at - 4;

	memcpy(b->bytes + at, &bytes, sizeof(bytes));
}

/* What is after the augmentation string, up to the augmentation data. */
static void put_factors(struct buffer *b, uint8_t code_align)
{
	put_u8(b, code_align);
	put_u8(b, 0x78); /* -8 */
	put_u8(b, 16);
}

static size_t put_cie_as(struct buffer *b, const char *letters, uint8_t encoding,
			 const uint8_t *program, size_t n)
{
	size_t at = begin_record(b, 0);

	put_u8(b, 1);
	put(b, letters, strlen(letters) + 1);
	put_factors(b, 1);
	if (letters[0] == 'z') {
		put_u8(b, 1);
		put_u8(b, encoding);
	}
	put(b, program, n);
	end_record(b, at);
	return at;
}

static size_t put_cie(struct buffer *b)
{
	return put_cie_as(b, "zR", 0x1b, usual_start, sizeof(usual_start));
}

static size_t begin_fde(struct buffer *b, size_t cie)
{
	return begin_record(b, b->n + 4 - cie);
}

/* With addresses as pcrel sdata4. */
static void put_fde(struct buffer *b, size_t cie, uint64_t start, uint32_t bytes,
		    const uint8_t *program, size_t n)
{
	size_t at = begin_fde(b, cie);

	put_u32(b, start - (IMAGE_EH_FRAME_VADDR + b->n));
	put_u32(b, bytes);
	put_u8(b, 0);
	put(b, program, n);
	end_record(b, at);
}

static int load(struct cfi_table *t, const struct buffer *b)
{
	size_t size;
	struct image *m = image_new(b->bytes, b->n, &size);
	int err = cfi_load_image(t, m, size);

	CHECK(image_table_is_sane(t));
	free(m);
	return err;
}

/* The table of one FDE over TEXT. */
static struct cfi_table run(const uint8_t *program, size_t n)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;

	put_fde(&b, put_cie(&b), TEXT, TEXT_BYTES, program, n);
	CHECK_EQ(load(&t, &b), 0);
	CHECK_EQ(t.n_fdes, 1);
	return t;
}

#define CHECK_CFA(t, offset, cfa_kind, off)                                    \
	do {                                                                   \
		struct unwind_rule unit_rule = cfi_find((t), TEXT + (offset)); \
		CHECK_EQ(unit_rule.kind, (cfa_kind));                          \
		CHECK_EQ(unit_rule.cfa_off, (off));                            \
	} while (0)

#define CHECK_BP(t, offset, kind_, off)                                        \
	do {                                                                   \
		struct unwind_rule unit_rule = cfi_find((t), TEXT + (offset)); \
		CHECK_EQ(unit_rule.bp_kind, (kind_));                          \
		CHECK_EQ(unit_rule.bp_off, (off));                             \
	} while (0)

/* The rule that a program leaves at the end of the code. */
#define CHECK_LAST_CFA(cfa_kind, off, ...)                             \
	do {                                                           \
		struct cfi_table unit_t = run(PROGRAM(__VA_ARGS__));   \
		CHECK_CFA(&unit_t, TEXT_BYTES - 1, (cfa_kind), (off)); \
		cfi_free(&unit_t);                                     \
	} while (0)

#define CHECK_LAST_BP(kind_, off, ...)                               \
	do {                                                         \
		struct cfi_table unit_t = run(PROGRAM(__VA_ARGS__)); \
		CHECK_CFA(&unit_t, TEXT_BYTES - 1, UNWIND_SP, 8);    \
		CHECK_BP(&unit_t, TEXT_BYTES - 1, (kind_), (off));   \
		cfi_free(&unit_t);                                   \
	} while (0)

TEST(rows_reach_from_an_fde_s_start_to_its_end)
{
	struct cfi_table t = run(NO_PROGRAM);

	CHECK_EQ(t.count, 2);
	CHECK_CFA(&t, -1, UNWIND_GAP, 0);
	CHECK_CFA(&t, 0, UNWIND_SP, 8);
	CHECK_CFA(&t, TEXT_BYTES - 1, UNWIND_SP, 8);
	CHECK_CFA(&t, TEXT_BYTES, UNWIND_GAP, 0);
	CHECK_BP(&t, 0, UNWIND_BP_SAME, 0);
	cfi_free(&t);
}

TEST(a_usual_function_with_a_frame_pointer)
{
	struct cfi_table t =
		run(PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0xa0, 0x0c, 7, 8));

	CHECK_EQ(t.count, 5);
	CHECK_CFA(&t, 0, UNWIND_SP, 8);
	CHECK_CFA(&t, 1, UNWIND_SP, 16);
	CHECK_BP(&t, 1, UNWIND_BP_AT_CFA, -16);
	CHECK_CFA(&t, 3, UNWIND_SP, 16);
	CHECK_CFA(&t, 4, UNWIND_BP, 16);
	CHECK_BP(&t, 4, UNWIND_BP_AT_CFA, -16);
	CHECK_CFA(&t, 0xa3, UNWIND_BP, 16);
	CHECK_CFA(&t, 0xa4, UNWIND_SP, 8);
	cfi_free(&t);
}

TEST(locations_advance_by_operands_of_all_sizes)
{
	struct cfi_table t =
		run(PROGRAM(0x42, 0x0e, 16, 0x02, 3, 0x0e, 24, 0x03, 4, 0, 0x0e, 32, 0x04, 5, 0, 0,
			    0, 0x0e, 40, 0x1d, 6, 0, 0, 0, 0, 0, 0, 0, 0x0e, 48));

	CHECK_CFA(&t, 1, UNWIND_SP, 8);
	CHECK_CFA(&t, 2, UNWIND_SP, 16);
	CHECK_CFA(&t, 5, UNWIND_SP, 24);
	CHECK_CFA(&t, 9, UNWIND_SP, 32);
	CHECK_CFA(&t, 14, UNWIND_SP, 40);
	CHECK_CFA(&t, 19, UNWIND_SP, 40);
	CHECK_CFA(&t, 20, UNWIND_SP, 48);
	cfi_free(&t);
}

TEST(advances_are_in_units_of_the_code_alignment)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = begin_record(&b, 0);

	put(&b, "\1zR", 4);
	put_factors(&b, 4);
	put(&b, "\1\x1b", 2);
	put(&b, usual_start, sizeof(usual_start));
	end_record(&b, cie);
	put_fde(&b, cie, TEXT, TEXT_BYTES, PROGRAM(0x42, 0x0e, 16));
	CHECK_EQ(load(&t, &b), 0);
	CHECK_CFA(&t, 7, UNWIND_SP, 8);
	CHECK_CFA(&t, 8, UNWIND_SP, 16);
	cfi_free(&t);
}

TEST(rows_at_or_after_the_end_are_cut_off)
{
	struct cfi_table t = run(PROGRAM(0x03, 0x00, 0x01, 0x0e, 16));

	CHECK_EQ(t.count, 2);
	CHECK_CFA(&t, TEXT_BYTES, UNWIND_GAP, 0);
	cfi_free(&t);
}

TEST(set_loc_is_encoded_like_the_fde_s_start)
{
	/* the operand of the first FDE after the usual CIE, behind its opcode */
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b), fde = begin_fde(&b, cie);

	put_u32(&b, TEXT - (IMAGE_EH_FRAME_VADDR + b.n));
	put_u32(&b, TEXT_BYTES);
	put(&b, "\0\x01", 2);
	put_u32(&b, TEXT + 0x20 - (IMAGE_EH_FRAME_VADDR + b.n));
	put(&b, "\x0e\x10\x01", 3);
	put_u32(&b, TEXT + 0x10 - (IMAGE_EH_FRAME_VADDR + b.n));
	end_record(&b, fde);
	CHECK_EQ(load(&t, &b), 0);
	CHECK_CFA(&t, 0x1f, UNWIND_SP, 8);
	CHECK_CFA(&t, 0x20, UNWIND_BAD, 0); /* the second one went back */
	CHECK_EQ(t.n_bad_fdes, 1);
	cfi_free(&t);
}

TEST(the_cfa_is_defined_in_every_way)
{
	CHECK_LAST_CFA(UNWIND_SP, 16, 0x0c, 7, 16);
	CHECK_LAST_CFA(UNWIND_BP, 128, 0x0c, 6, 0x80, 0x01);
	CHECK_LAST_CFA(UNWIND_BP, 8, 0x0d, 6);
	CHECK_LAST_CFA(UNWIND_SP, 24, 0x0e, 24);
	CHECK_LAST_CFA(UNWIND_SP, -16, 0x12, 7, 2);
	CHECK_LAST_CFA(UNWIND_SP, 16, 0x12, 7, 0x7e);
	CHECK_LAST_CFA(UNWIND_SP, 32, 0x13, 0x7c);
}

TEST(an_offset_of_the_cfa_that_no_rule_holds_is_bad)
{
	CHECK_LAST_CFA(UNWIND_SP, INT32_MAX, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x07);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x08);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0c, 10, 0x80, 0x80, 0x80, 0x04);
}

TEST(the_cfa_may_be_in_another_register)
{
	CHECK_LAST_CFA(UNWIND_REG, unwind_pack_reg(10, 0), 0x0c, 10, 0);
	CHECK_LAST_CFA(UNWIND_REG, unwind_pack_reg(0, 8), 0x0d, 0);
	CHECK_LAST_CFA(UNWIND_REG, unwind_pack_reg(15, -8), 0x12, 15, 1);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0c, 16, 0);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0c, 0x87, 0x02, 8); /* 263 is not 7 */
	CHECK_EQ(unwind_reg(unwind_pack_reg(15, -8)), 15);
	CHECK_EQ(unwind_reg_plus(unwind_pack_reg(15, -8)), -8);
}

TEST(rbp_is_saved_in_every_way)
{
	CHECK_LAST_BP(UNWIND_BP_AT_CFA, -16, 0x86, 2);
	CHECK_LAST_BP(UNWIND_BP_AT_CFA, -24, 0x05, 6, 3);
	CHECK_LAST_BP(UNWIND_BP_AT_CFA, -32, 0x11, 6, 4);
	CHECK_LAST_BP(UNWIND_BP_AT_CFA, 8, 0x11, 6, 0x7f);
	CHECK_LAST_BP(UNWIND_BP_AT_CFA, 16, 0x2f, 6, 2);
	CHECK_LAST_BP(UNWIND_BP_AT_BP, 0, 0x10, 6, 2, 0x76, 0);
	CHECK_LAST_BP(UNWIND_BP_AT_BP, -8, 0x10, 6, 2, 0x76, 0x78);
}

TEST(rbp_is_lost_where_no_rule_says_where_it_is)
{
	CHECK_LAST_BP(UNWIND_BP_LOST, 0, 0x07, 6);
	CHECK_LAST_BP(UNWIND_BP_LOST, 0, 0x09, 6, 9);
	CHECK_LAST_BP(UNWIND_BP_LOST, 0, 0x14, 6, 2);
	CHECK_LAST_BP(UNWIND_BP_LOST, 0, 0x15, 6, 2);
	CHECK_LAST_BP(UNWIND_BP_LOST, 0, 0x16, 6, 2, 0x76, 0);
	CHECK_LAST_BP(UNWIND_BP_LOST, 0, 0x10, 6, 2, 0x77, 0);
	CHECK_LAST_BP(UNWIND_BP_LOST, 0, 0x10, 6, 3, 0x76, 0, 0x06);
	CHECK_LAST_BP(UNWIND_BP_AT_CFA, -32768, 0x86, 0x80, 0x20);
	CHECK_LAST_BP(UNWIND_BP_LOST, 0, 0x86, 0x81, 0x20);
}

TEST(rbp_comes_back)
{
	CHECK_LAST_BP(UNWIND_BP_SAME, 0, 0x86, 2, 0x41, 0xc6);
	CHECK_LAST_BP(UNWIND_BP_SAME, 0, 0x86, 2, 0x41, 0x06, 6);
	CHECK_LAST_BP(UNWIND_BP_SAME, 0, 0x86, 2, 0x41, 0x08, 6);
}

TEST(restore_means_not_saved_whatever_the_cie_said)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie_as(&b, "zR", 0x1b, PROGRAM(0x0c, 7, 8, 0x90, 1, 0x86, 2));
	size_t other = put_cie_as(&b, "zR", 0x1b,
				  PROGRAM(0x0c, 7, 8, 0x90, 1, 0x86, 2, 0x83, 3, 0xc6, 0xc3));

	put_fde(&b, cie, TEXT, 0x10, PROGRAM(0x41, 0xc6));
	put_fde(&b, other, TEXT + 0x10, 0x10, PROGRAM(0x0e, 16));
	CHECK_EQ(load(&t, &b), 0);
	CHECK_BP(&t, 0, UNWIND_BP_AT_CFA, -16);
	CHECK_BP(&t, 1, UNWIND_BP_SAME, 0);
	CHECK_CFA(&t, 0x10, UNWIND_SP, 16);
	CHECK_BP(&t, 0x10, UNWIND_BP_SAME, 0);
	CHECK_EQ(t.n_bad_fdes, 0);
	cfi_free(&t);
}

TEST(a_restored_return_address_is_where_the_cie_said)
{
	struct cfi_table t = run(PROGRAM(0x07, 16, 0x41, 0xd0));

	CHECK_CFA(&t, 0, UNWIND_END, 0);
	CHECK_CFA(&t, 1, UNWIND_SP, 8);
	cfi_free(&t);
}

TEST(states_are_remembered_with_their_cfa)
{
	struct cfi_table t = run(PROGRAM(0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0c, 6, 32, 0xc6, 0x0a,
					 0x41, 0x0e, 8, 0x41, 0x0b, 0x41, 0x0b));

	CHECK_CFA(&t, 0, UNWIND_SP, 16);
	CHECK_CFA(&t, 1, UNWIND_BP, 32);
	CHECK_CFA(&t, 2, UNWIND_BP, 8);
	CHECK_CFA(&t, 3, UNWIND_BP, 32);
	CHECK_BP(&t, 3, UNWIND_BP_SAME, 0);
	CHECK_CFA(&t, 4, UNWIND_SP, 16);
	CHECK_BP(&t, 4, UNWIND_BP_AT_CFA, -16);
	cfi_free(&t);
}

TEST(states_never_remembered_or_too_many_are_bad)
{
	uint8_t many[1000];
	struct cfi_table t;

	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0b);
	memset(many, 0x0a, sizeof(many));
	t = run(many, sizeof(many));
	CHECK_CFA(&t, 0, UNWIND_BAD, 0);
	CHECK_EQ(t.n_bad_fdes, 1);
	cfi_free(&t);
}

TEST(no_return_address_ends_the_stack)
{
	CHECK_LAST_CFA(UNWIND_END, 0, 0x07, 16);
	CHECK_LAST_CFA(UNWIND_END, 0, 0x86, 2, 0x07, 16);
}

TEST(a_return_address_elsewhere_is_bad)
{
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x90, 2);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x08, 16);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x14, 16, 1);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x10, 16, 2, 0x77, 0);
}

TEST(a_return_address_in_a_register)
{
	CHECK_LAST_CFA(UNWIND_RA_REG, unwind_pack_reg(5, 8), 0x09, 16, 5);
	CHECK_LAST_CFA(UNWIND_RA_REG, unwind_pack_reg(5, 0), 0x0e, 0, 0x09, 16, 5);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x09, 16, 17);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0d, 6, 0x09, 16, 5); /* from rbp, and rbp saved: */
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x86, 2, 0x09, 16, 5); /* nobody does that */
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x14, 7, 1, 0x09, 16, 5);
}

TEST(a_caller_s_rsp_other_than_the_cfa_is_bad)
{
	CHECK_LAST_CFA(UNWIND_SP, 8, 0x14, 7, 0);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x14, 7, 1);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x09, 7, 8);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x16, 7, 2, 0x77, 0);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x87, 2);
}

TEST(other_registers_and_padding_make_no_row)
{
	struct cfi_table t = run(PROGRAM(0x41, 0x83, 3, 0x41, 0x10, 12, 2, 0x76, 0x78, 0x41, 0x2e,
					 16, 0, 0x41, 0x07, 3, 0x41, 0xc3, 0, 0, 0));

	CHECK_EQ(t.count, 2);
	CHECK_EQ(t.n_bad_fdes, 0);
	cfi_free(&t);
}

TEST(the_plt_s_expression_is_known_with_every_threshold)
{
	CHECK_LAST_CFA(UNWIND_PLT, 11, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
		       0x24, 0x22);
	CHECK_LAST_CFA(UNWIND_PLT, 10, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33,
		       0x24, 0x22);
	CHECK_LAST_CFA(UNWIND_PLT, 9, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33,
		       0x24, 0x22);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 11, 0x77, 0, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
		       0x24, 0x22);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x50, 0x2a, 0x33,
		       0x24, 0x22);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
		       0x24, 0x1c);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 10, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
		       0x24);
}

TEST(a_cfa_that_was_saved_on_the_stack)
{
	CHECK_LAST_CFA(UNWIND_BP_DEREF, unwind_pack_deref(-8, 0), 0x0f, 3, 0x76, 0x78, 0x06);
	CHECK_LAST_CFA(UNWIND_SP_DEREF, unwind_pack_deref(160, 8), 0x0f, 6, 0x77, 0xa0, 0x01, 0x06,
		       0x23, 8);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 3, 0x7a, 0, 0x06);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 5, 0x77, 0x80, 0x80, 0x02, 0x06);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 7, 0x77, 0, 0x06, 0x23, 0x80, 0x80, 0x02);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 4, 0x77, 0, 0x06, 0x06);
	CHECK_EQ(unwind_deref_at(unwind_pack_deref(-8, 24)), -8);
	CHECK_EQ(unwind_deref_plus(unwind_pack_deref(-8, 24)), 24);
	CHECK_EQ(unwind_deref_plus(unwind_pack_deref(-8, -24)), -24);
}

TEST(an_expression_that_is_a_register_and_an_offset_is_no_expression)
{
	CHECK_LAST_CFA(UNWIND_SP, 24, 0x0f, 2, 0x77, 24);
	CHECK_LAST_CFA(UNWIND_REG, unwind_pack_reg(10, -8), 0x0f, 2, 0x7a, 0x78);
}

TEST(other_expressions_are_bad)
{
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 0);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 1, 0x77);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 2, 0x77, 0x80);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 3, 0x30, 0x30, 0x22);
}

TEST(an_offset_leaves_an_expression_in_force_but_a_register_does_not)
{
	CHECK_LAST_CFA(UNWIND_BP_DEREF, unwind_pack_deref(-8, 0), 0x0f, 3, 0x76, 0x78, 0x06, 0x0e,
		       16);
	CHECK_LAST_CFA(UNWIND_SP, 8, 0x0f, 3, 0x76, 0x78, 0x06, 0x0d, 7);
	CHECK_LAST_CFA(UNWIND_SP, 16, 0x0f, 3, 0x76, 0x78, 0x06, 0x0c, 7, 16);
}

static struct cfi_table run_signal(const uint8_t *program, size_t n)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie_as(&b, "zRS", 0x1b, usual_start, sizeof(usual_start));

	put_fde(&b, cie, TEXT, TEXT_BYTES, program, n);
	CHECK_EQ(load(&t, &b), 0);
	return t;
}

TEST(a_signal_frame_is_known_by_its_ucontext)
{
	/* rsp and rip are read from where the kernel puts them; then with rip somewhere else */
	struct cfi_table t =
		run_signal(PROGRAM(0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01));
	struct cfi_table other =
		run_signal(PROGRAM(0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa9, 0x01));

	CHECK_CFA(&t, 0, UNWIND_SIGNAL, 0);
	CHECK_CFA(&other, 0, UNWIND_BAD, 0);
	cfi_free(&t);
	cfi_free(&other);
}

TEST(an_unknown_instruction_spoils_what_follows_only)
{
	struct cfi_table t = run(PROGRAM(0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x3f, 0x41, 0x0e, 32));

	CHECK_CFA(&t, 0, UNWIND_SP, 8);
	CHECK_CFA(&t, 1, UNWIND_SP, 16);
	CHECK_CFA(&t, 2, UNWIND_BAD, 0);
	CHECK_CFA(&t, TEXT_BYTES - 1, UNWIND_BAD, 0);
	CHECK_CFA(&t, TEXT_BYTES, UNWIND_GAP, 0);
	CHECK_EQ(t.n_bad_fdes, 1);
	cfi_free(&t);
}

TEST(an_instruction_cut_off_is_bad)
{
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0c, 7);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0e);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0e, 0x80);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x02);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x03, 1);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x04, 1, 0, 0);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x86);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x0f, 3, 0x76, 0x78);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x10, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		       1);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x16, 3, 9, 0);
}

TEST(numbers_of_more_than_64_bits_are_bad)
{
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x2e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		       0x80, 0);
	CHECK_LAST_CFA(UNWIND_BAD, 0, 0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
}

TEST(a_broken_cie_program_spoils_all_its_fdes)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie_as(&b, "zR", 0x1b, PROGRAM(0x0c, 7, 8, 0x90, 1, 0x41));

	put_fde(&b, cie, TEXT, 0x10, NO_PROGRAM);
	put_fde(&b, cie, TEXT + 0x20, 0x10, NO_PROGRAM);
	CHECK_EQ(load(&t, &b), 0);
	CHECK_CFA(&t, 0, UNWIND_BAD, 0);
	CHECK_CFA(&t, 0x2f, UNWIND_BAD, 0);
	CHECK_EQ(t.n_bad_fdes, 2);
	cfi_free(&t);
}

/* A CIE of that version with what the version has in it; the table of one FDE under it. */
static struct cfi_table run_version(uint8_t version, uint8_t address_bytes, uint8_t selector_bytes)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = begin_record(&b, 0);

	put_u8(&b, version);
	put(&b, "zR", 3);
	if (version == 4) {
		put_u8(&b, address_bytes);
		put_u8(&b, selector_bytes);
	}
	put_factors(&b, 1);
	put(&b, "\1\x1b", 2);
	put(&b, usual_start, sizeof(usual_start));
	end_record(&b, cie);
	put_fde(&b, cie, TEXT, TEXT_BYTES, NO_PROGRAM);
	CHECK_EQ(load(&t, &b), 0);
	return t;
}

static void check_version(uint8_t version, uint8_t address_bytes, uint8_t selector_bytes,
			  bool is_known)
{
	struct cfi_table t = run_version(version, address_bytes, selector_bytes);

	CHECK_CFA(&t, 0, is_known ? UNWIND_SP : UNWIND_GAP, is_known ? 8 : 0);
	CHECK_EQ(t.n_bad_fdes, is_known ? 0 : 2);
	cfi_free(&t);
}

TEST(cies_have_version_1_3_or_4)
{
	check_version(1, 0, 0, true);
	check_version(3, 0, 0, true);
	check_version(4, 8, 0, true);
	check_version(4, 4, 0, false);
	check_version(4, 8, 4, false);
	check_version(0, 0, 0, false);
	check_version(2, 0, 0, false);
	check_version(5, 0, 0, false);
}

TEST(all_augmentations_are_passed_over)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = begin_record(&b, 0), fde;

	put(&b, "\1zPLRB", 7);
	put_factors(&b, 1);
	put(&b, "\x07\x1b\1\2\3\4\x1b\x1b", 8);
	put(&b, usual_start, sizeof(usual_start));
	end_record(&b, cie);
	fde = begin_fde(&b, cie);
	put_u32(&b, TEXT - (IMAGE_EH_FRAME_VADDR + b.n));
	put_u32(&b, TEXT_BYTES);
	put(&b, "\4abcd", 5);
	put(&b, "\x0e\x10", 2);
	end_record(&b, fde);
	CHECK_EQ(load(&t, &b), 0);
	CHECK_CFA(&t, 0, UNWIND_SP, 16);
	CHECK_EQ(t.n_bad_fdes, 0);
	cfi_free(&t);
}

TEST(a_cie_of_an_unknown_form_is_left_out_with_its_fdes)
{
	const char *const letters[] = { "zRX", "eh", "R", "zX" };

	for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
		struct buffer b = { .n = 0 };
		struct cfi_table t;
		size_t cie = put_cie_as(&b, letters[i], 0x1b, usual_start, sizeof(usual_start));

		put_fde(&b, cie, TEXT, TEXT_BYTES, NO_PROGRAM);
		CHECK_EQ(load(&t, &b), 0);
		CHECK_EQ(t.count, 0);
		CHECK_EQ(t.n_bad_fdes, 2);
		cfi_free(&t);
	}
}

/* One FDE with address and length in these bytes. */
static struct cfi_table run_encoded(const char *letters, uint8_t encoding, const void *bytes,
				    size_t n)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie_as(&b, letters, encoding, usual_start, sizeof(usual_start));
	size_t fde = begin_fde(&b, cie);

	put(&b, bytes, n);
	if (letters[0] == 'z')
		put_u8(&b, 0);
	put(&b, "\x0e\x18", 2);
	end_record(&b, fde);
	CHECK_EQ(load(&t, &b), 0);
	return t;
}

static void check_encoded(const char *letters, uint8_t encoding, const void *bytes, size_t n)
{
	struct cfi_table t = run_encoded(letters, encoding, bytes, n);

	CHECK_CFA(&t, -1, UNWIND_GAP, 0);
	CHECK_CFA(&t, 0, UNWIND_SP, 24);
	CHECK_CFA(&t, TEXT_BYTES - 1, UNWIND_SP, 24);
	CHECK_CFA(&t, TEXT_BYTES, UNWIND_GAP, 0);
	cfi_free(&t);
}

TEST(addresses_are_stored_in_every_format)
{
	uint64_t whole[] = { TEXT, TEXT_BYTES };
	uint32_t half[] = { TEXT, TEXT_BYTES };
	uint16_t quarter[] = { TEXT, TEXT_BYTES };

	check_encoded("", 0, whole, sizeof(whole));
	check_encoded("zR", 0x00, whole, sizeof(whole));
	check_encoded("zR", 0x01, "\x80\x20\x80\x02", 4);
	check_encoded("zR", 0x02, quarter, sizeof(quarter));
	check_encoded("zR", 0x03, half, sizeof(half));
	check_encoded("zR", 0x04, whole, sizeof(whole));
	check_encoded("zR", 0x09, "\x80\x20\x80\x02", 4);
	check_encoded("zR", 0x0a, quarter, sizeof(quarter));
	check_encoded("zR", 0x0b, half, sizeof(half));
	check_encoded("zR", 0x0c, whole, sizeof(whole));
}

TEST(addresses_of_unknown_formats_and_bases_are_left_out)
{
	const uint8_t encodings[] = { 0x05, 0x0f, 0x20, 0x30, 0x40, 0x50, 0x9b, 0xff };

	for (size_t i = 0; i < ARRAY_SIZE(encodings); i++) {
		struct cfi_table t =
			run_encoded("zR", encodings[i], (uint64_t[]){ TEXT, TEXT_BYTES }, 16);

		CHECK_EQ(t.count, 0);
		CHECK_EQ(t.n_bad_fdes, 1);
		cfi_free(&t);
	}
}

TEST(an_fde_of_no_bytes_covers_nothing)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b);

	put_fde(&b, cie, TEXT + 8, 0, PROGRAM(0x0e, 16));
	put_fde(&b, cie, TEXT, TEXT_BYTES, NO_PROGRAM);
	CHECK_EQ(load(&t, &b), 0);
	CHECK_EQ(t.count, 2);
	CHECK_EQ(t.n_fdes, 1);
	CHECK_EQ(t.n_bad_fdes, 0);
	CHECK_CFA(&t, 8, UNWIND_SP, 8);
	cfi_free(&t);
}

TEST(an_fde_around_the_end_of_the_address_space_is_left_out)
{
	uint64_t bytes[] = { UINT64_MAX - 0xf, 0x20 };
	struct cfi_table t = run_encoded("zR", 0x00, bytes, sizeof(bytes));

	CHECK_EQ(t.count, 0);
	CHECK_EQ(t.n_bad_fdes, 1);
	cfi_free(&t);
}

/* It would take the rows of all others with it. */
TEST(an_fde_too_far_from_the_first_is_left_out)
{
	const uint64_t far = TEXT + (1ULL << 31);
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b), fde;

	put_fde(&b, cie, TEXT, 16, PROGRAM(0x0e, 16));
	cie = put_cie_as(&b, "zR", 0x00, usual_start, sizeof(usual_start));
	fde = begin_fde(&b, cie);
	put_u64(&b, far);
	put_u64(&b, 16);
	put_u8(&b, 0);
	end_record(&b, fde);
	CHECK_EQ(load(&t, &b), 0);
	CHECK_EQ(t.n_bad_fdes, 1);
	CHECK_CFA(&t, 8, UNWIND_SP, 16);
	CHECK_EQ(cfi_find(&t, far).kind, UNWIND_GAP);
	cfi_free(&t);
}

TEST(terminators_between_records_are_passed_over)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b);

	put_fde(&b, cie, TEXT, 0x10, NO_PROGRAM);
	put_u32(&b, 0);
	cie = put_cie(&b);
	put_u32(&b, 0);
	put_fde(&b, cie, TEXT + 0x10, 0x10, PROGRAM(0x0e, 16));
	put_u32(&b, 0);
	CHECK_EQ(load(&t, &b), 0);
	CHECK_CFA(&t, 0xf, UNWIND_SP, 8);
	CHECK_CFA(&t, 0x10, UNWIND_SP, 16);
	CHECK_EQ(t.n_fdes, 2);
	cfi_free(&t);
}

TEST(lengths_may_have_64_bits)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b);

	put_u32(&b, 0xffffffff);
	put_u64(&b, 13);
	put_u32(&b, b.n - cie);
	put_u32(&b, TEXT - (IMAGE_EH_FRAME_VADDR + b.n));
	put_u32(&b, TEXT_BYTES);
	put_u8(&b, 0);
	put_fde(&b, cie, TEXT + TEXT_BYTES, 8, PROGRAM(0x0e, 16));
	CHECK_EQ(load(&t, &b), 0);
	CHECK_CFA(&t, 0, UNWIND_SP, 8);
	CHECK_CFA(&t, TEXT_BYTES, UNWIND_SP, 16);
	cfi_free(&t);
}

TEST(lengths_beyond_the_section_end_it)
{
	const uint64_t lengths[] = { 0x1000, 0xfffffffe, UINT64_MAX, 1ull << 63 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct buffer b = { .n = 0 };
		struct cfi_table t;

		put_fde(&b, put_cie(&b), TEXT, TEXT_BYTES, NO_PROGRAM);
		if (lengths[i] > UINT32_MAX) {
			put_u32(&b, 0xffffffff);
			put_u64(&b, lengths[i]);
		} else {
			put_u32(&b, lengths[i]);
		}
		put_u64(&b, 0);
		CHECK_EQ(load(&t, &b), 0);
		CHECK_EQ(t.n_bad_fdes, 1);
		CHECK_CFA(&t, 0, UNWIND_SP, 8);
		cfi_free(&t);
	}
}

TEST(every_section_cut_short_survives)
{
	struct buffer b = { .n = 0 };
	size_t cie = put_cie(&b), cie_end = b.n, fde_end;

	put_fde(&b, cie, TEXT, 0x10, PROGRAM(0x41, 0x0e, 16, 0x86, 2));
	fde_end = b.n;
	put_fde(&b, cie, TEXT + 0x10, 0x10, PROGRAM(0x02, 4, 0x0f, 3, 0x76, 0x78, 0x06));
	while (b.n-- > 1) {
		struct cfi_table t;

		CHECK_EQ(load(&t, &b), 0);
		CHECK_EQ(t.n_fdes, b.n >= fde_end);
		CHECK_EQ(t.n_bad_fdes, b.n != cie_end && b.n != fde_end);
		cfi_free(&t);
	}
}

TEST(fdes_in_any_order_come_out_sorted)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b);

	put_fde(&b, cie, TEXT + 0x20, 0x10, PROGRAM(0x0e, 24));
	put_fde(&b, cie, TEXT, 0x10, NO_PROGRAM);
	put_fde(&b, cie, TEXT + 0x10, 8, PROGRAM(0x0e, 16));
	CHECK_EQ(load(&t, &b), 0);
	CHECK_EQ(t.count, 5);
	CHECK_CFA(&t, 0xf, UNWIND_SP, 8);
	CHECK_CFA(&t, 0x10, UNWIND_SP, 16);
	CHECK_CFA(&t, 0x18, UNWIND_GAP, 0);
	CHECK_CFA(&t, 0x20, UNWIND_SP, 24);
	CHECK_CFA(&t, 0x30, UNWIND_GAP, 0);
	cfi_free(&t);
}

TEST(neighbours_with_the_same_rule_share_a_row)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b);

	put_fde(&b, cie, TEXT, 0x10, NO_PROGRAM);
	put_fde(&b, cie, TEXT + 0x10, 0x10, NO_PROGRAM);
	CHECK_EQ(load(&t, &b), 0);
	CHECK_EQ(t.count, 2);
	cfi_free(&t);
}

TEST(an_fde_ends_where_the_next_one_starts)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b);

	put_fde(&b, cie, TEXT, 0x40, PROGRAM(0x44, 0x0e, 16));
	put_fde(&b, cie, TEXT + 0x10, 0x10, PROGRAM(0x0e, 24));
	CHECK_EQ(load(&t, &b), 0);
	CHECK_CFA(&t, 0xf, UNWIND_SP, 16);
	CHECK_CFA(&t, 0x10, UNWIND_SP, 24);
	CHECK_CFA(&t, 0x20, UNWIND_GAP, 0);
	cfi_free(&t);
}

TEST(of_fdes_with_the_same_start_the_first_counts)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b);

	put_fde(&b, cie, TEXT, 0x10, PROGRAM(0x0e, 16));
	put_fde(&b, cie, TEXT, 0x20, PROGRAM(0x0e, 24));
	CHECK_EQ(load(&t, &b), 0);
	CHECK_CFA(&t, 0, UNWIND_SP, 16);
	CHECK_CFA(&t, 0x10, UNWIND_GAP, 0);
	cfi_free(&t);
}

TEST(of_fdes_with_the_same_start_the_first_too_ends_where_the_next_one_starts)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b);

	put_fde(&b, cie, TEXT, 0x40, PROGRAM(0x0e, 16, 0x60, 0x0e, 32));
	put_fde(&b, cie, TEXT, 0x40, PROGRAM(0x0e, 24));
	put_fde(&b, cie, TEXT + 0x10, 0x10, PROGRAM(0x0e, 40));
	CHECK_EQ(load(&t, &b), 0);
	CHECK_CFA(&t, 0xf, UNWIND_SP, 16);
	CHECK_CFA(&t, 0x10, UNWIND_SP, 40);
	CHECK_CFA(&t, 0x20, UNWIND_GAP, 0);
	CHECK(image_table_is_sane(&t));
	cfi_free(&t);
}

TEST(an_fde_that_points_to_no_cie_is_left_out)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cie = put_cie(&b);

	put_fde(&b, cie + 4, TEXT, 0x10, NO_PROGRAM);
	put_fde(&b, cie - 1000, TEXT + 0x10, 0x10, NO_PROGRAM);
	put_fde(&b, cie, TEXT + 0x20, 0x10, NO_PROGRAM);
	put_fde(&b, b.n - 9, TEXT + 0x30, 0x10, NO_PROGRAM);
	CHECK_EQ(load(&t, &b), 0);
	CHECK_EQ(t.n_fdes, 1);
	CHECK_EQ(t.n_bad_fdes, 3);
	CHECK_CFA(&t, 0x20, UNWIND_SP, 8);
	cfi_free(&t);
}

TEST(fdes_find_their_own_cie_among_many)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;
	size_t cies[8];

	for (uint8_t i = 0; i < 8; i++)
		cies[i] = put_cie_as(&b, "zR", 0x1b, PROGRAM(0x0c, 7, i, 0x90, 1));
	for (uint8_t i = 0; i < 8; i++)
		put_fde(&b, cies[i * 3 % 8], TEXT + i, 1, NO_PROGRAM);
	CHECK_EQ(load(&t, &b), 0);
	for (uint8_t i = 0; i < 8; i++)
		CHECK_CFA(&t, i, UNWIND_SP, i * 3 % 8);
	cfi_free(&t);
}

/* An image with one FDE. */
static struct image *usual_image(size_t *size)
{
	struct buffer b = { .n = 0 };
	size_t cie = put_cie(&b);

	put_fde(&b, cie, TEXT, TEXT_BYTES, NO_PROGRAM);
	put_u32(&b, 0);
	put_fde(&b, cie, TEXT + TEXT_BYTES, TEXT_BYTES, NO_PROGRAM);
	return image_new(b.bytes, b.n, size);
}

static int load_usual(struct cfi_table *t, struct image *m, size_t size)
{
	int err = cfi_load_image(t, m, size);

	CHECK(image_table_is_sane(t));
	if (err)
		CHECK_EQ(t->count, 0);
	free(m);
	return err;
}

TEST(without_section_headers_the_segment_is_read_up_to_its_terminator)
{
	struct cfi_table t;
	size_t size;
	struct image *m = usual_image(&size);

	m->header.e_shoff = 0;
	CHECK_EQ(load_usual(&t, m, size), 0);
	CHECK_EQ(t.n_fdes, 1);
	CHECK_CFA(&t, 0, UNWIND_SP, 8);
	CHECK_CFA(&t, TEXT_BYTES, UNWIND_GAP, 0);
	cfi_free(&t);
}

TEST(section_headers_that_are_not_in_the_file_count_as_absent)
{
	struct cfi_table t;
	size_t size;
	struct image *m = usual_image(&size);

	m->header.e_shoff = UINT64_MAX - 8;
	CHECK_EQ(load_usual(&t, m, size), 0);
	CHECK_EQ(t.n_fdes, 1);
	cfi_free(&t);
}

static int load_edited(void (*edit)(struct image *m))
{
	struct cfi_table t;
	size_t size;
	struct image *m = usual_image(&size);
	int err;

	edit(m);
	err = load_usual(&t, m, size);
	cfi_free(&t);
	return err;
}

static void make_nobits(struct image *m)
{
	m->sections[1].sh_type = SHT_NOBITS;
}

static void make_compressed(struct image *m)
{
	m->sections[1].sh_flags = SHF_COMPRESSED;
}

static void make_too_long(struct image *m)
{
	m->sections[1].sh_size++;
}

static void make_huge(struct image *m)
{
	m->sections[1].sh_size = UINT64_MAX - 0x200;
}

static void drop_all_headers(struct image *m)
{
	m->header.e_shnum = 0;
	m->header.e_phnum = 0;
}

static void drop_section(struct image *m)
{
	m->sections[1].sh_name = 12;
	m->header.e_phnum = 1;
}

static void make_32bit(struct image *m)
{
	m->header.e_ident[EI_CLASS] = ELFCLASS32;
}

static void make_arm64(struct image *m)
{
	m->header.e_machine = EM_PPC64;
}

static void make_object(struct image *m)
{
	m->header.e_type = ET_REL;
}

static void make_text(struct image *m)
{
	m->header.e_ident[0] = '#';
}

static void break_hdr_version(struct image *m)
{
	m->header.e_shnum = 0;
	m->hdr[0] = 2;
}

static void break_hdr_pointer(struct image *m)
{
	m->header.e_shnum = 0;
	m->hdr[7] = 0x77;
}

static void break_hdr_encoding(struct image *m)
{
	m->header.e_shnum = 0;
	m->hdr[1] = 0xff;
}

static void break_segment(struct image *m)
{
	m->header.e_shnum = 0;
	m->segments[0].p_offset = UINT64_MAX - 8;
}

TEST(files_that_have_no_table_are_refused)
{
	CHECK_EQ(load_edited(make_nobits), -ENODATA);
	CHECK_EQ(load_edited(drop_all_headers), -ENODATA);
	CHECK_EQ(load_edited(drop_section), -ENODATA);
	CHECK_EQ(load_edited(make_compressed), -EINVAL);
	CHECK_EQ(load_edited(make_too_long), -EINVAL);
	CHECK_EQ(load_edited(make_huge), -EFBIG);
	CHECK_EQ(load_edited(make_32bit), -ENOTSUP);
	CHECK_EQ(load_edited(make_arm64), -ENOTSUP);
	CHECK_EQ(load_edited(make_object), -ENOEXEC);
	CHECK_EQ(load_edited(make_text), -ENOEXEC);
	CHECK_EQ(load_edited(break_hdr_version), -EINVAL);
	CHECK_EQ(load_edited(break_hdr_pointer), -EINVAL);
	CHECK_EQ(load_edited(break_hdr_encoding), -EINVAL);
	CHECK_EQ(load_edited(break_segment), -EINVAL);
}

TEST(an_empty_section_is_an_empty_table)
{
	struct buffer b = { .n = 0 };
	struct cfi_table t;

	CHECK_EQ(load(&t, &b), 0);
	CHECK_EQ(t.count, 0);
	CHECK_EQ(cfi_find(&t, TEXT).kind, UNWIND_GAP);
	cfi_free(&t);
}

TEST(a_file_shorter_than_a_header_is_no_elf)
{
	struct cfi_table t;

	CHECK_EQ(cfi_load_image(&t, "", 0), -ENOEXEC);
	CHECK_EQ(cfi_load_image(&t, ELFMAG, 4), -ENOEXEC);
}

TEST(a_gigantic_section_in_a_sparse_file_is_refused)
{
	size_t size;
	struct image *m = usual_image(&size);
	int fd = memfd_create("sparse", MFD_CLOEXEC);
	struct cfi_table t;

	m->sections[1].sh_size = 1ull << 30;
	CHECK_EQ(write(fd, m, size), size);
	CHECK_EQ(ftruncate(fd, 2ll << 30), 0);
	CHECK_EQ(cfi_load(&t, fd), -EFBIG);
	close(fd);
	free(m);
}

TEST(fd_and_image_give_the_same)
{
	size_t size;
	struct image *m = usual_image(&size);
	int fd = memfd_create("image", MFD_CLOEXEC);
	struct cfi_table t;

	CHECK_EQ(write(fd, m, size), size);
	CHECK_EQ(cfi_load(&t, fd), 0);
	CHECK_EQ(t.n_fdes, 2);
	CHECK_CFA(&t, TEXT_BYTES * 2 - 1, UNWIND_SP, 8);
	cfi_free(&t);
	CHECK_EQ(cfi_load(&t, -1), -EBADF);
	close(fd);
	free(m);
}

static double now_s(void)
{
	return (double)clock_now_ns() / 1e9;
}

/* A CIE of 1 MB of "nop" and 50,000 FDEs under it: 5 * 10^10 steps if each FDE would execute it. */
TEST(time_is_linear_in_the_section_s_size)
{
	const size_t cie_bytes = 1 << 20, n = 50000, fde_bytes = 17;
	uint8_t *eh = mem_zalloc(cie_bytes + n * fde_bytes, 1), *p = eh + cie_bytes;
	double start_s = now_s();
	struct buffer b = { .n = 0 };
	struct image *m;
	struct cfi_table t;
	size_t size;

	put_cie(&b);
	memcpy(eh, b.bytes, b.n);
	memcpy(eh, &(uint32_t){ cie_bytes - 4 }, 4);
	for (size_t i = 0; i < n; i++, p += fde_bytes) {
		uint32_t words[] = { fde_bytes - 4, p + 4 - eh,
				     TEXT + i * 2 - (IMAGE_EH_FRAME_VADDR + (p + 8 - eh)), 1 };

		memcpy(p, words, sizeof(words));
	}
	m = image_new(eh, cie_bytes + n * fde_bytes, &size);
	CHECK_EQ(cfi_load_image(&t, m, size), 0);
	CHECK_EQ(t.n_fdes, n);
	CHECK_EQ(t.count, 2 * n);
	CHECK(now_s() - start_s < 2);
	cfi_free(&t);
	free(m);
	free(eh);
}

/* ---- this program and its libraries ---- */

#define OBJECTS_MAX 32
#define FRAMES_MAX  64

struct object {
	uint64_t base, start, end;
	struct cfi_table table;
};

static struct object objects[OBJECTS_MAX];
static size_t n_objects;

static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	struct object *o = &objects[n_objects];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)size;
	(void)data;
	if (fd < 0 || n_objects == OBJECTS_MAX)
		return 0; /* the vdso */
	*o = (struct object){ .base = info->dlpi_addr, .start = UINT64_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD)
			continue;
		if (o->base + ph->p_vaddr < o->start)
			o->start = o->base + ph->p_vaddr;
		o->end = o->base + ph->p_vaddr + ph->p_memsz;
	}
	CHECK_EQ(cfi_load(&o->table, fd), 0);
	CHECK(image_table_is_sane(&o->table));
	n_objects++;
	close(fd);
	return 0;
}

static void load_objects(void)
{
	n_objects = 0;
	dl_iterate_phdr(add_object, NULL);
}

static void free_objects(void)
{
	while (n_objects)
		cfi_free(&objects[--n_objects].table);
}

static struct unwind_rule find_rule(uint64_t ip)
{
	for (size_t i = 0; i < n_objects; i++)
		if (ip >= objects[i].start && ip < objects[i].end)
			return cfi_find(&objects[i].table, ip - objects[i].base);
	return (struct unwind_rule){ .kind = UNWIND_GAP };
}

struct regs {
	uint64_t ip, sp, bp;
	bool is_exact; /* ip is where it was interrupted, not a return address */
};

/* Across what ASan takes for the borders of variables. */
__attribute__((no_sanitize("address"))) static uint64_t peek(uint64_t addr)
{
	return *(volatile uint64_t *)addr;
}

static bool find_cfa(const struct regs *r, struct unwind_rule rule, uint64_t *cfa)
{
	switch (rule.kind) {
	case UNWIND_SP:
		*cfa = r->sp + rule.cfa_off;
		return true;
	case UNWIND_BP:
		*cfa = r->bp + rule.cfa_off;
		return true;
	case UNWIND_PLT:
		*cfa = r->sp + 8 + ((r->ip & 15) >= (uint64_t)rule.cfa_off ? 8 : 0);
		return true;
	case UNWIND_SP_DEREF:
	case UNWIND_BP_DEREF:
		*cfa = peek((rule.kind == UNWIND_SP_DEREF ? r->sp : r->bp) +
			    unwind_deref_at(rule.cfa_off)) +
		       unwind_deref_plus(rule.cfa_off);
		return true;
	default:
		return false;
	}
}

static bool step(struct regs *r)
{
	struct unwind_rule rule = find_rule(r->is_exact ? r->ip : r->ip - 1);
	uint64_t cfa;

	if (rule.kind == UNWIND_SIGNAL) {
		*r = (struct regs){ .ip = peek(r->sp + UNWIND_UCONTEXT_RIP),
				    .bp = peek(r->sp + UNWIND_UCONTEXT_RBP),
				    .sp = peek(r->sp + UNWIND_UCONTEXT_RSP),
				    .is_exact = true };
		return true;
	}
	if (!find_cfa(r, rule, &cfa))
		return false;
	if (rule.bp_kind == UNWIND_BP_AT_CFA)
		r->bp = peek(cfa + rule.bp_off);
	else if (rule.bp_kind == UNWIND_BP_AT_BP)
		r->bp = peek(r->bp + rule.bp_off);
	r->ip = peek(cfa - 8);
	r->sp = cfa;
	r->is_exact = false;
	return true;
}

/* volatile: raise() is declared never to come back into this file, but its signal does. */
static volatile size_t walks, frames;

/* Both walks start in this function, so from its caller on they are the same. */
static __attribute__((noinline)) void compare_walks(void)
{
	void *theirs[FRAMES_MAX];
	uint64_t ours[FRAMES_MAX];
	size_t n = 0, n_theirs;
	struct regs r;
	ucontext_t uc;

	getcontext(&uc);
	r = (struct regs){ .ip = uc.uc_mcontext.gregs[REG_RIP],
			   .sp = uc.uc_mcontext.gregs[REG_RSP],
			   .bp = uc.uc_mcontext.gregs[REG_RBP] };
	n_theirs = backtrace(theirs, FRAMES_MAX);
	do
		ours[n++] = r.ip;
	while (n < FRAMES_MAX && step(&r) && r.ip);
	CHECK_EQ(find_rule(r.ip - 1).kind, UNWIND_END);
	CHECK(n_theirs == n || n_theirs == n + 1); /* ASan's own backtrace() calls it */
	for (size_t i = 1; i < n && i < n_theirs; i++)
		CHECK_EQ(ours[n - i], (uintptr_t)theirs[n_theirs - i]);
	walks++;
	frames = n;
}

static int compare_ints(const void *a, const void *b)
{
	compare_walks();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
	(void)sig;
	compare_walks();
}

TEST(walks_through_libc_are_those_of_libgcc)
{
	int numbers[] = { 3, 1, 2 };

	load_objects();
	walks = 0;
	qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare_ints);
	CHECK(walks >= 2);
	CHECK(frames >= 6); /* main, the test, qsort, the comparison and what called main */
	free_objects();
}

TEST(walks_through_signal_frames_are_those_of_libgcc)
{
	struct sigaction sa = { .sa_handler = on_signal }, old;

	load_objects();
	walks = 0;
	sigaction(SIGUSR1, &sa, &old);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
	CHECK_EQ(walks, 1);
	CHECK(frames >= 6);
	free_objects();
}

/* An array of 64-byte alignment whose size is not known makes GCC realign the frame. */
static __attribute__((noinline)) void call_realigned(size_t n, void (*call)(void))
{
	volatile char aligned[64] __attribute__((aligned(64)));
	volatile char *unknown = __builtin_alloca(n);

	unknown[0] = aligned[0] = 0;
	call();
	aligned[1] = unknown[0];
}

TEST(walks_through_realigned_frames_are_those_of_libgcc)
{
	load_objects();
	walks = 0;
	call_realigned((size_t)getpid() % 100 + 1, compare_walks);
	CHECK_EQ(walks, 1);
	free_objects();
}

TEST(libc_s_functions_start_with_the_return_address_on_top)
{
	uint64_t functions[] = { (uintptr_t)qsort, (uintptr_t)getcontext, (uintptr_t)strtol };

	load_objects();
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct unwind_rule rule = find_rule(functions[i]);

		CHECK_EQ(rule.kind == UNWIND_SP ? rule.cfa_off : -1, 8);
		CHECK_EQ(rule.bp_kind, UNWIND_BP_SAME);
	}
	free_objects();
}

/* ---- broken copies ---- */

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return random_state >> 33;
}

static void *read_self(size_t *size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *copy;

	fstat(fd, &st);
	*size = st.st_size;
	copy = mem_zalloc(*size, 1);
	CHECK_EQ(read(fd, copy, *size), *size);
	close(fd);
	return copy;
}

static void find_eh_frame(const uint8_t *self, uint64_t *offset, uint64_t *bytes)
{
	const Elf64_Ehdr *eh = (const void *)self;
	const Elf64_Shdr *sections = (const void *)(self + eh->e_shoff);
	const char *names = (const char *)self + sections[eh->e_shstrndx].sh_offset;

	for (int i = 0; i < eh->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, ".eh_frame")) {
			*offset = sections[i].sh_offset;
			*bytes = sections[i].sh_size;
		}
}

/* Up to eight bytes in [start, start + span) get other values for one load. */
static int load_mutated(uint8_t *image, size_t size, uint64_t start, uint64_t span)
{
	uint64_t at[8], n = next_random() % ARRAY_SIZE(at) + 1;
	struct cfi_table t;
	uint8_t old[8];
	int err;

	for (size_t i = 0; i < n; i++) {
		at[i] = start + next_random() % span;
		old[i] = image[at[i]];
		image[at[i]] = next_random() % 4 ? next_random() : 0xff;
	}
	err = cfi_load_image(&t, image, size);
	CHECK(image_table_is_sane(&t));
	cfi_free(&t);
	while (n--)
		image[at[n]] = old[n];
	return err;
}

TEST(broken_copies_of_this_program_survive)
{
	uint64_t offset = 0, bytes = 1;
	size_t size, loaded = 0;
	uint8_t *self = read_self(&size);

	find_eh_frame(self, &offset, &bytes);
	for (int i = 0; i < 1000; i++)
		loaded += !load_mutated(self, size, offset, bytes);
	CHECK_EQ(loaded, 1000); /* what is wrong inside is left out */
	for (int i = 0; i < 1000; i++)
		load_mutated(self, size, 0, sizeof(Elf64_Ehdr) + 13 * sizeof(Elf64_Phdr));
	for (int i = 0; i < 1000; i++)
		load_mutated(self, size, ((const Elf64_Ehdr *)(void *)self)->e_shoff,
			     sizeof(Elf64_Shdr) * 30);
	free(self);
}

TEST(this_program_cut_short_survives)
{
	size_t size;
	uint8_t *self = read_self(&size);

	for (int i = 0; i < 200; i++) {
		size_t kept = next_random() % size;
		uint8_t *part = mem_zalloc(kept, 1);
		struct cfi_table t;

		memcpy(part, self, kept);
		cfi_load_image(&t, part, kept);
		CHECK(image_table_is_sane(&t));
		cfi_free(&t);
		free(part);
	}
	free(self);
}

static struct cfi_table copy_rows(const struct cfi_row *rows, size_t n)
{
	struct cfi_table t = {};

	for (size_t i = 0; i < n; i++)
		CHECK_EQ(cfi_append(&t, rows[i].vaddr, &rows[i].rule), 0);
	return t;
}

/* Two functions, with a gap between them and one behind. */
static struct cfi_table make_gaps(void)
{
	static const struct cfi_row rows[] = {
		{ 0x1000, { .kind = UNWIND_SP, .cfa_off = 8 } },
		{ 0x1100, { .kind = UNWIND_GAP } },
		{ 0x1200, { .kind = UNWIND_SP, .cfa_off = 8 } },
		{ 0x1300, { .kind = UNWIND_GAP } },
	};

	return copy_rows(rows, ARRAY_SIZE(rows));
}

/* Fills with what ends walks, from vaddr on. */
static void check_filled(uint64_t start, uint64_t max_bytes, uint64_t end)
{
	struct cfi_row row = { start, { .kind = UNWIND_END } };
	struct cfi_table t = make_gaps();
	bool filled = cfi_fill_gap(&t, &row, 1, cfi_gap_end(&t, start, max_bytes));

	CHECK_EQ(filled, end != 0);
	for (uint64_t vaddr = 0xf00; vaddr < 0x1500; vaddr++) {
		struct cfi_table before = make_gaps();
		bool inside = vaddr >= start && vaddr < end;
		int wanted = inside ? UNWIND_END : cfi_find(&before, vaddr).kind;

		CHECK_EQ(cfi_find(&t, vaddr).kind, wanted);
		cfi_free(&before);
	}
	CHECK(image_table_is_sane(&t));
	cfi_free(&t);
}

TEST(a_gap_is_filled)
{
	check_filled(0x1100, 0x40, 0x1140);
	check_filled(0x1150, 0x40, 0x1190);
	check_filled(0x11f0, 0x40, 0x1200); /* the next function begins before */
	check_filled(0x11c0, 0x40, 0x1200);
	check_filled(0x1300, 0x40, 0x1340);
	check_filled(0x1400, 0x40, 0x1440);
	check_filled(0xf80, 0x40, 0xfc0); /* before all of them */
	check_filled(0xff0, 0x40, 0x1000);
}

TEST(what_has_unwind_information_keeps_it)
{
	struct cfi_row row = { 0x11f0, { .kind = UNWIND_END } };
	struct cfi_table t = make_gaps();

	check_filled(0x1000, 0x40, 0);
	check_filled(0x12ff, 0x40, 0);
	check_filled(UINT64_MAX - 5, 0x40, 0);
	CHECK(!cfi_fill_gap(&t, &row, 1, 0x1201)); /* reaches into the next function */
	CHECK(!cfi_fill_gap(&t, &row, 1, 0x11f0));
	CHECK(!cfi_fill_gap(&t, &row, 0, 0x1200));
	CHECK_EQ(t.count, 4);
	cfi_free(&t);
}

/* As far as a table reaches: 2 GiB before its first row, and more behind. */
TEST(rows_too_far_apart_are_refused)
{
	const struct unwind_rule sp = { .kind = UNWIND_SP, .cfa_off = 8 },
				 bp = { .kind = UNWIND_BP };
	const uint64_t first = 0x7f1234567890;
	struct cfi_row before = { first - (1ULL << 30), sp }, far = { first - (1ULL << 33), sp };
	struct cfi_table t = {};

	CHECK_EQ(cfi_append(&t, first, &sp), 0);
	CHECK_EQ(cfi_append(&t, first + (1ULL << 33), &bp), -EFBIG);
	CHECK_EQ(cfi_append(&t, first + (1ULL << 30), &bp), 0);
	CHECK(cfi_fill_gap(&t, &before, 1, before.vaddr + 16));
	CHECK(!cfi_fill_gap(&t, &far, 1, far.vaddr + 16));
	CHECK_EQ(t.count, 4);
	CHECK_EQ(cfi_find(&t, before.vaddr + 15).kind, UNWIND_SP);
	CHECK_EQ(cfi_find(&t, before.vaddr + 16).kind, UNWIND_GAP);
	CHECK_EQ(cfi_find(&t, first).kind, UNWIND_SP);
	CHECK_EQ(cfi_find(&t, first + (1ULL << 31)).kind, UNWIND_BP);
	cfi_free(&t);
}

/* Rules that share a slot among those known, and more of them than there are slots. */
TEST(each_row_has_its_rule_however_many_there_are)
{
	struct cfi_table t = {};
	int n_wrong = 0;

	for (int i = 0; i < 20000; i++) {
		struct unwind_rule rule = { .kind = UNWIND_SP,
					    .cfa_off = 8 * (i % 3 ? i % 5000 : 1) };

		CHECK_EQ(cfi_append(&t, 4 * (uint64_t)i, &rule), 0);
	}
	for (int i = 0; i < 20000; i++)
		n_wrong += cfi_find(&t, 4 * (uint64_t)i).cfa_off != 8 * (i % 3 ? i % 5000 : 1);
	CHECK_EQ(n_wrong, 0);
	cfi_free(&t);
}

TEST(a_row_that_is_not_behind_the_last_takes_its_place)
{
	const struct unwind_rule sp = { .kind = UNWIND_SP, .cfa_off = 8 },
				 bp = { .kind = UNWIND_BP };
	struct cfi_table t = {};

	cfi_append(&t, 0x100, &sp);
	cfi_append(&t, 0x110, &bp);
	cfi_append(&t, 0x110, &sp);
	CHECK_EQ(t.count, 1);
	cfi_append(&t, 0x100, &bp);
	CHECK_EQ(t.count, 1);
	CHECK_EQ(cfi_find(&t, 0x100).kind, UNWIND_BP);
	cfi_free(&t);
}

/* ---- code that the C library's authors left without unwind information ---- */

/* The table of a file with what is known of it. False: there is no such file. */
static bool load_known(struct cfi_table *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf64 elf;

	*t = (struct cfi_table){ .cells = NULL };
	if (fd < 0)
		return false;
	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(cfi_load_elf(t, &elf), 0);
	cfi_fill_known_gaps(t, &elf);
	CHECK(image_table_is_sane(t));
	close(fd);
	return true;
}

TEST(the_dynamic_linkers_entry_point_has_no_caller)
{
	int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC);
	struct cfi_table t;
	Elf64_Ehdr header;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		SKIP("no dynamic linker");
	close(fd);
	CHECK(load_known(&t, "/lib64/ld-linux-x86-64.so.2"));
	CHECK_EQ(cfi_find(&t, header.e_entry).kind, UNWIND_END);
	CHECK_EQ(cfi_find(&t, header.e_entry + 7).kind, UNWIND_END);
	cfi_free(&t);
}

static uint64_t run_address(uint64_t address)
{
	Dl_info info;

	return dladdr((void *)(uintptr_t)address, &info) ? address - (uintptr_t)info.dli_fbase : 0;
}

#define INIT_BYTES "\x48\x83\xec\x08" /* sub $8,%rsp: what _init and _fini begin with */

/* This very program's, as its linker put it together. */
TEST(init_and_fini_have_callers)
{
	extern void begin_it(void) __asm__("_init"), end_it(void) __asm__("_fini");
	void (*const functions[])(void) = { begin_it, end_it };
	struct cfi_table t;

	CHECK(load_known(&t, "/proc/self/exe"));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const uint8_t *code = (const uint8_t *)(uintptr_t)functions[i];
		uint64_t start = run_address((uintptr_t)code), at = 0;

		if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4))
			at = 4;
		if (memcmp(code + at, INIT_BYTES, 4))
			SKIP("this C library's begin in another way");
		CHECK_EQ(cfi_find(&t, start).kind, UNWIND_SP);
		CHECK_EQ(cfi_find(&t, start).cfa_off, 8);
		CHECK_EQ(cfi_find(&t, start + at).cfa_off, 8);
		CHECK_EQ(cfi_find(&t, start + at + 4).cfa_off, 16);
	}
	cfi_free(&t);
}

/* The compiler's start files follow _start; one of their functions has a frame pointer. */
TEST(start_files_have_callers)
{
	extern void start_it(void) __asm__("_start");
	uint64_t start = run_address((uintptr_t)start_it), n_frames = 0, n_gaps = 0;
	struct cfi_table t;

	CHECK(load_known(&t, "/proc/self/exe"));
	for (uint64_t at = start; at < start + 0xe0; at++) {
		struct unwind_rule rule = cfi_find(&t, at);

		n_gaps += rule.kind == UNWIND_GAP;
		n_frames += rule.kind == UNWIND_SP && rule.cfa_off == 16 &&
			    rule.bp_kind == UNWIND_BP_AT_CFA && rule.bp_off == -16;
	}
	if (n_gaps > 0xc0)
		SKIP("start files of another compiler");
	CHECK(n_frames > 16);
	CHECK(n_gaps < 32);
	cfi_free(&t);
}

/* Walks out of clone's gap in both ways: a rule for the instruction behind the system call. */
TEST(clone_returns_twice)
{
	size_t n_clones = 0;
	struct cfi_table t;

	if (!load_known(&t, "/lib/x86_64-linux-gnu/libc.so.6") &&
	    !load_known(&t, "/lib64/libc.so.6"))
		SKIP("no glibc where it usually is");
	for (size_t i = 1; i + 1 < t.count; i++) {
		if (cfi_row(&t, i).rule.kind != UNWIND_CLONE)
			continue;
		n_clones++;
		CHECK_EQ(cfi_find(&t, cfi_vaddr(&t, i) - 1).kind, UNWIND_SP); /* the system call */
		CHECK_EQ(cfi_row(&t, i + 1).rule.kind, UNWIND_END);
	}
	CHECK(n_clones > 0);
	cfi_free(&t);
}

/* vfork keeps its return address in a register, which must outlast the system call. */
TEST(vforks_return_address_is_in_a_register)
{
	void *libc =
		dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD); /* a sanitizer has a vfork, too */
	uint64_t code = libc ? run_address((uintptr_t)dlsym(libc, "vfork")) : 0;
	bool found = false;
	struct cfi_table t;

	if (!load_known(&t, "/lib/x86_64-linux-gnu/libc.so.6") &&
	    !load_known(&t, "/lib64/libc.so.6"))
		SKIP("no glibc where it usually is");
	for (uint64_t at = code; at < code + 16; at++)
		found |= cfi_find(&t, at).kind == UNWIND_RA_REG;
	CHECK(found);
	cfi_free(&t);
}

/* Its lazy binding has the CFA in rbx, which is saved by the functions that it calls. */
TEST(rbx_is_followed_in_the_dynamic_linker)
{
	size_t n_from_bx = 0, n_saved = 0;
	struct cfi_table t;

	if (!load_known(&t, "/lib64/ld-linux-x86-64.so.2"))
		SKIP("no dynamic linker");
	for (size_t i = 0; i < t.count; i++) {
		struct unwind_rule rule = cfi_row(&t, i).rule;

		n_from_bx += rule.kind == UNWIND_REG && unwind_reg(rule.cfa_off) == UNWIND_RBX;
		n_saved += rule.extra_place >= UNWIND_BX_AT_CFA;
	}
	CHECK(n_from_bx > 0);
	CHECK(n_saved > 100);
	cfi_free(&t);
}

/* Elsewhere it would only make more rules. */
TEST(rbx_is_not_followed_where_nothing_needs_it)
{
	struct cfi_table t;

	CHECK(load_known(&t, "/proc/self/exe"));
	for (size_t i = 0; i < t.count; i++)
		CHECK_EQ(cfi_row(&t, i).rule.extra_place, UNWIND_BX_LOST);
	cfi_free(&t);
}
