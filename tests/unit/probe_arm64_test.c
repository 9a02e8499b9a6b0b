// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places of probes in code of arm64: on the entries of real allocators (recorded), and on code made
 * for each rule. Instructions are written as a disassembler shows them: a word each.
 */
#include "probes/probe_machine.h"
#include "probes/probe_place.h"
#include "arm64_insns.h"
#include "probe_places.h"
#include "unit.h"

static const struct entry entries[] = {
#include "alloc_entries_arm64.h"
};

static size_t read_words(uint8_t *code, const char *text)
{
	size_t n = 0;
	char *end;

	for (const char *at = text; *at && n + sizeof(uint32_t) <= CODE_MAX; at = end) {
		uint32_t word = (uint32_t)strtoul(at, &end, 16);

		memcpy(code + n, &word, sizeof(word));
		n += sizeof(word);
	}
	return n;
}

static struct probe_place place_code(const char *text, struct probe_request request)
{
	struct probe_place place;
	uint8_t code[CODE_MAX];
	size_t n = read_words(code, text);

	probe_place_find_on(&probe_machine_arm64, &place, &request, code, n);
	return place;
}

#define MOVABLE(n) ((struct probe_request){ .n_args = (n), .may_move_args = true })

/* An instruction, and a branch behind it, which is reached if the instruction may be skipped. */
#define CHECK_SKIPPED(text, request) CHECK_PLACE(text " 54000040", request, 4, PROBE_BRANCH)
#define CHECK_KEPT(text, request)    CHECK_PLACE(text " 54000040", request, 0, PROBE_STEP)

/* It writes argument number n, counted from 1, and no other. */
#define CHECK_WRITES_ARG(text, n)                   \
	do {                                        \
		CHECK_KEPT(text, STRICT(n));        \
		CHECK_SKIPPED(text, STRICT(n - 1)); \
	} while (0)

/* Return probes must not sit behind it. */
#define CHECK_CHANGES_RETURN(text)             \
	do {                                   \
		CHECK_KEPT(text, STRICT(0));   \
		CHECK_SKIPPED(text, ENTRY(0)); \
	} while (0)

/* ---- real allocators ---- */

TEST(places_probes_in_the_allocators_of_debian)
{
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		check_entry(&entries[i], entries[i].code, 0);
}

/* ---- what the kernel makes of a probe ---- */

TEST(knows_what_the_kernel_emulates_steps_over_and_refuses)
{
	char word[16];

	for (size_t i = 0; i < ARRAY_SIZE(arm64_insns); i++) {
		snprintf(word, sizeof(word), "%08x", arm64_insns[i].word);
		CHECK_PLACE(word, STRICT(1), 0, arm64_insns[i].kind);
	}
}

TEST(steps_are_avoided)
{
	/* steps behind what is refused */
	/* ldr x3, .+64; mov x4, x3; str x4, [x1] */
	CHECK_PLACE("58000203 aa0303e4 f9000024", STRICT(1), 4, PROBE_STEP);
	/* ldr x3, .+64; cbz x0, .+64 */
	CHECK_PLACE("58000203 b4000200", STRICT(1), 4, PROBE_BRANCH);
	/* prfm pldl1keep, .+64; cbz x0, .+64 */
	CHECK_PLACE("d8000200 b4000200", STRICT(1), 4, PROBE_BRANCH);
	/* ldr x0, .+64; cbz x0, .+64 */
	CHECK_PLACE("58000200 b4000200", STRICT(1), 0, PROBE_REFUSED);
	CHECK_PLACE("d2801ae8 d4000001", STRICT(2), 0, PROBE_STEP); /* mov x8, #215; svc #0 */
	/* prefers the first of equals and late nops to steps */
	/* nop; adrp x3, .+65536; cbz x0, .+64 */
	CHECK_PLACE("d503201f 90000003 b4000200", STRICT(1), 4, PROBE_ADDRESS);
	/* adrp x3, .+65536; adrp x4, .+65536 */
	CHECK_PLACE("90000003 90000004", STRICT(1), 0, PROBE_ADDRESS);
	/* nop; nop; ldr x3, [x1]; svc #0 */
	CHECK_PLACE("d503201f d503201f f9400023 d4000001", STRICT(1), 0, PROBE_LATE_NOP);
	/* mov x3, x0; nop; svc #0 */
	CHECK_PLACE("aa0003e3 d503201f d4000001", STRICT(1), 4, PROBE_LATE_NOP);
	/* mov x3, x0; nop; ret */
	CHECK_PLACE("aa0003e3 d503201f d65f03c0", STRICT(1), 8, PROBE_BRANCH);
}

/* ---- what may be skipped ---- */

TEST(keeps_arguments)
{
	CHECK_WRITES_ARG("d2800000", 1); /* mov x0, #0 */
	CHECK_WRITES_ARG("f2a00021", 2); /* movk x1, #1, lsl #16 */
	CHECK_WRITES_ARG("12800021", 2); /* movn w1, #1 */
	CHECK_WRITES_ARG("91004041", 2); /* add x1, x2, #16 */
	CHECK_WRITES_ARG("51004041", 2); /* sub w1, w2, #16 */
	CHECK_WRITES_ARG("b1004041", 2); /* adds x1, x2, #16 */
	CHECK_WRITES_ARG("92400c41", 2); /* and x1, x2, #0xf */
	CHECK_WRITES_ARG("f2400c41", 2); /* ands x1, x2, #0xf */
	CHECK_WRITES_ARG("d3431841", 2); /* ubfx x1, x2, #3, #4 */
	CHECK_WRITES_ARG("93407c42", 3); /* sxtw x2, w2 */
	CHECK_WRITES_ARG("93c20c41", 2); /* ror x1, x2, #3: extr */
	CHECK_WRITES_ARG("aa030041", 2); /* orr x1, x2, x3 */
	CHECK_WRITES_ARG("ea230041", 2); /* bics x1, x2, x3 */
	CHECK_WRITES_ARG("8b030c41", 2); /* add x1, x2, x3, lsl #3 */
	CHECK_WRITES_ARG("8b234041", 2); /* add x1, x2, w3, uxtw */
	CHECK_WRITES_ARG("9a030041", 2); /* adc x1, x2, x3 */
	CHECK_WRITES_ARG("9a830041", 2); /* csel x1, x2, x3, eq */
	CHECK_WRITES_ARG("1a9f17e1", 2); /* cset w1, eq */
	CHECK_WRITES_ARG("dac01041", 2); /* clz x1, x2 */
	CHECK_WRITES_ARG("dac00c41", 2); /* rev x1, x2 */
	CHECK_WRITES_ARG("9ac30c41", 2); /* sdiv x1, x2, x3 */
	CHECK_WRITES_ARG("9ac30841", 2); /* udiv x1, x2, x3 */
	CHECK_WRITES_ARG("9ac32041", 2); /* lsl x1, x2, x3 */
	CHECK_WRITES_ARG("9bc37c41", 2); /* umulh x1, x2, x3 */
	CHECK_WRITES_ARG("9b031041", 2); /* madd x1, x2, x3, x4 */
	CHECK_WRITES_ARG("d53bd041", 2); /* mrs x1, tpidr_el0 */
	CHECK_WRITES_ARG("f9400441", 2); /* ldr x1, [x2, #8] */
	CHECK_WRITES_ARG("39402041", 2); /* ldrb w1, [x2, #8] */
	CHECK_WRITES_ARG("b9800841", 2); /* ldrsw x1, [x2, #8] */
	CHECK_WRITES_ARG("f85f8041", 2); /* ldur x1, [x2, #-8] */
	CHECK_WRITES_ARG("f8637841", 2); /* ldr x1, [x2, x3, lsl #3] */
	CHECK_WRITES_ARG("a9401d01", 2); /* ldp x1, x7, [x8] */
	CHECK_WRITES_ARG("a9400507", 2); /* ldp x7, x1, [x8] */
	CHECK_WRITES_ARG("f8408427", 2); /* ldr x7, [x1], #8 */
	CHECK_WRITES_ARG("f8408c27", 2); /* ldr x7, [x1, #8]! */
	CHECK_WRITES_ARG("a8c12027", 2); /* ldp x7, x8, [x1], #16 */
	CHECK_WRITES_ARG("3cc10420", 2); /* ldr q0, [x1], #16 */
	CHECK_PLACE("10000201 d65f03c0", STRICT(2), 0, PROBE_ADDRESS); /* adr x1, .+64; ret */
	/* mov x8, x0; adrp x0, .+65536; ret */
	CHECK_PLACE("aa0003e8 90000000 d65f03c0", STRICT(1), 4, PROBE_ADDRESS);
}

TEST(skips_what_arguments_are_used_for)
{
	CHECK_SKIPPED("eb01001f", STRICT(6));			      /* cmp x0, x1 */
	CHECK_SKIPPED("f100401f", STRICT(6));			      /* cmp x0, #16 */
	CHECK_SKIPPED("3100041f", STRICT(6));			      /* cmn w0, #1 */
	CHECK_SKIPPED("f2402cbf", STRICT(6));			      /* tst x5, #0xfff */
	CHECK_SKIPPED("ea01001f", STRICT(6));			      /* tst x0, x1 */
	CHECK_SKIPPED("fa401804", STRICT(6));			      /* ccmp x0, #0, #4, ne */
	CHECK_SKIPPED("f9800400", STRICT(6));			      /* prfm pldl1keep, [x0, #8] */
	CHECK_SKIPPED("f940001f", STRICT(6));			      /* ldr xzr, [x0] */
	CHECK_SKIPPED("9bc17c07", STRICT(6));			      /* umulh x7, x0, x1 */
	CHECK_SKIPPED("9ac10807", STRICT(6));			      /* udiv x7, x0, x1 */
	CHECK_SKIPPED("f9400407", STRICT(6));			      /* ldr x7, [x0, #8] */
	CHECK_SKIPPED("3cc08000", STRICT(6));			      /* ldr q0, [x0, #8] */
	CHECK_SKIPPED("ad400400", STRICT(6));			      /* ldp q0, q1, [x0] */
	CHECK_SKIPPED("d53bd047", STRICT(6));			      /* mrs x7, tpidr_el0 */
	CHECK_SKIPPED("d503245f", STRICT(6));			      /* bti c */
	CHECK_SKIPPED("d503249f", STRICT(6));			      /* bti j */
	CHECK_PLACE("d503201f 14000010", STRICT(6), 4, PROBE_BRANCH); /* nop; b .+64 */
}

TEST(writes_only_the_own_frame)
{
	CHECK_KEPT("f9000107", ENTRY(0));     /* str x7, [x8] */
	CHECK_KEPT("a9012127", ENTRY(0));     /* stp x7, x8, [x9, #16] */
	CHECK_KEPT("f8008507", ENTRY(0));     /* str x7, [x8], #8 */
	CHECK_KEPT("3829691f", ENTRY(0));     /* strb wzr, [x8, x9] */
	CHECK_KEPT("3d800100", ENTRY(0));     /* str q0, [x8] */
	CHECK_SKIPPED("f90007e7", STRICT(0)); /* str x7, [sp, #8] */
	CHECK_SKIPPED("f81f83e7", STRICT(0)); /* stur x7, [sp, #-8] */
	CHECK_SKIPPED("a90153f3", STRICT(0)); /* stp x19, x20, [sp, #16] */
	CHECK_SKIPPED("6d0127e8", STRICT(0)); /* stp d8, d9, [sp, #16] */
	CHECK_SKIPPED("3d8007e8", STRICT(0)); /* str q8, [sp, #16] */
	CHECK_SKIPPED("a9bc7bfd", ENTRY(1));  /* stp x29, x30, [sp, #-64]! */
	CHECK_SKIPPED("6dbc27e8", ENTRY(1));  /* stp d8, d9, [sp, #-64]! */
	CHECK_SKIPPED("d10103ff", ENTRY(1));  /* sub sp, sp, #64 */
}

/* The kernel replaces x30, and takes sp for what it is when the call is over. */
TEST(keeps_the_return_where_it_is_wanted)
{
	CHECK_CHANGES_RETURN("a9bc7bfd");     /* stp x29, x30, [sp, #-64]! */
	CHECK_CHANGES_RETURN("a9bc53f3");     /* stp x19, x20, [sp, #-64]! */
	CHECK_CHANGES_RETURN("6dbc27e8");     /* stp d8, d9, [sp, #-64]! */
	CHECK_CHANGES_RETURN("f81f0ff3");     /* str x19, [sp, #-16]! */
	CHECK_CHANGES_RETURN("f84107f3");     /* ldr x19, [sp], #16 */
	CHECK_CHANGES_RETURN("d10103ff");     /* sub sp, sp, #64 */
	CHECK_CHANGES_RETURN("cb2963ff");     /* sub sp, sp, x9 */
	CHECK_CHANGES_RETURN("927ced3f");     /* and sp, x9, #0xfffffffffffffff0 */
	CHECK_CHANGES_RETURN("9100013f");     /* mov sp, x9 */
	CHECK_CHANGES_RETURN("a9017bfd");     /* stp x29, x30, [sp, #16] */
	CHECK_CHANGES_RETURN("f90007fe");     /* str x30, [sp, #8] */
	CHECK_CHANGES_RETURN("aa1e03e9");     /* mov x9, x30 */
	CHECK_CHANGES_RETURN("aa0903fe");     /* mov x30, x9 */
	CHECK_CHANGES_RETURN("f940013e");     /* ldr x30, [x9] */
	CHECK_CHANGES_RETURN("d503233f");     /* paciasp */
	CHECK_CHANGES_RETURN("d503231f");     /* paciaz */
	CHECK_CHANGES_RETURN("d503237f");     /* pacibsp */
	CHECK_SKIPPED("fd0007fe", STRICT(0)); /* str d30, [sp, #8] */
	CHECK_SKIPPED("910003fd", STRICT(0)); /* mov x29, sp */
	CHECK_SKIPPED("eb2963ff", STRICT(0)); /* cmp sp, x9 */
	/* bti c; paciasp; stp x29, x30, [sp, #-32]!; adrp x3, .+65536; ret */
	CHECK_PLACE("d503245f d503233f a9be7bfd 90000003 d65f03c0", STRICT(1), 0, PROBE_STEP);
	/* bti c; paciasp; stp x29, x30, [sp, #-32]!; adrp x3, .+65536; ret */
	CHECK_PLACE("d503245f d503233f a9be7bfd 90000003 d65f03c0", ENTRY(1), 12, PROBE_ADDRESS);
	/* paciasp; stp x29, x30, [sp, #-32]!; cbz x0, .+64 */
	CHECK_PLACE("d503233f a9be7bfd b4000200", ENTRY(1), 8, PROBE_BRANCH);
	CHECK_PLACE("d503245f b4000200", STRICT(1), 4, PROBE_BRANCH); /* bti c; cbz x0, .+64 */
}

TEST(an_unknown_instruction_ends_the_search)
{
	CHECK_KEPT("d5033bbf", ENTRY(0)); /* dmb ish */
	CHECK_KEPT("d50b7420", ENTRY(0)); /* dc zva, x0 */
	CHECK_KEPT("f8278128", ENTRY(0)); /* swp x7, x8, [x9] */
	CHECK_KEPT("f8270128", ENTRY(0)); /* ldadd x7, x8, [x9] */
	CHECK_KEPT("c8dffd27", ENTRY(0)); /* ldar x7, [x9] */
	CHECK_KEPT("f8400927", ENTRY(0)); /* ldtr x7, [x9] */
	CHECK_KEPT("f8200527", ENTRY(0)); /* ldraa x7, [x9] */
	CHECK_KEPT("d9400127", ENTRY(0)); /* ldapur x7, [x9] */
	CHECK_KEPT("6f00e400", ENTRY(0)); /* movi v0.2d, #0 */
	CHECK_KEPT("9e660007", ENTRY(0)); /* fmov x7, d0 */
	CHECK_KEPT("dac10107", ENTRY(0)); /* pacia x7, x8 */
	CHECK_KEPT("dac143e7", ENTRY(0)); /* xpaci x7 */
	CHECK_KEPT("9ac93107", ENTRY(0)); /* pacga x7, x8, x9 */
	CHECK_KEPT("9ac94d07", ENTRY(0)); /* crc32x w7, w8, x9 */
	CHECK_KEPT("9adf1107", ENTRY(0)); /* irg x7, x8 */
	CHECK_KEPT("91810507", ENTRY(0)); /* addg x7, x8, #16, #1 */
	CHECK_KEPT("690023e7", ENTRY(0)); /* stgp x7, x8, [sp] */
	CHECK_KEPT("d9200be7", ENTRY(0)); /* stg x7, [sp] */
	CHECK_KEPT("d53be047", ENTRY(0)); /* mrs x7, cntvct_el0 */
	CHECK_KEPT("ba0084e1", ENTRY(0)); /* rmif x7, #1, #1 */
	CHECK_KEPT("2518e3e0", ENTRY(0)); /* ptrue p0.b */
	CHECK_KEPT("f82703e8", ENTRY(0)); /* ldadd x7, x8, [sp] */
	CHECK_KEPT("f380003f", ENTRY(0)); /* autiasppc .-4 */
	CHECK_KEPT("9a200000", ENTRY(0)); /* unallocated */
	CHECK_KEPT("00000000", ENTRY(0)); /* udf */
	CHECK_PLACE("", STRICT(0), 0, PROBE_STEP);
}

TEST(the_search_ends)
{
	/* a branch ends the search */
	/* mov x3, x0; cbz x0, .+64; adrp x3, .+65536 */
	CHECK_PLACE("aa0003e3 b4000200 90000003", STRICT(1), 4, PROBE_BRANCH);
	/* ldr x3, .+64; svc #0; cbz x0, .+64 */
	CHECK_PLACE("58000203 d4000001 b4000200", ENTRY(1), 0, PROBE_REFUSED);
	/* a jump back to the place rules it out */
	/* mov x3, x0; cbz x0, .+8; b .-4; ret */
	CHECK_PLACE("aa0003e3 b4000040 17ffffff d65f03c0", STRICT(1), 0, PROBE_STEP);
	/* mov x3, x0; cbz x0, .+8; b.ne .-4; ret */
	CHECK_PLACE("aa0003e3 b4000040 54ffffe1 d65f03c0", STRICT(1), 0, PROBE_STEP);
	/* mov x3, x0; cbz x0, .+8; cbnz x3, .-4; ret */
	CHECK_PLACE("aa0003e3 b4000040 b5ffffe3 d65f03c0", STRICT(1), 0, PROBE_STEP);
	/* mov x3, x0; cbz x0, .+8; tbz x3, #1, .-4; ret */
	CHECK_PLACE("aa0003e3 b4000040 360fffe3 d65f03c0", STRICT(1), 0, PROBE_STEP);
	/* mov x3, x0; cbz x0, .+8; b .-8; ret */
	CHECK_PLACE("aa0003e3 b4000040 17fffffe d65f03c0", STRICT(1), 4, PROBE_BRANCH);
	CHECK_PLACE("aa0003e3 b4000000", STRICT(1), 0, PROBE_STEP); /* mov x3, x0; cbz x0, . */
	/* mov x3, x0; mov x4, x0; cbz x0, .-4 */
	CHECK_PLACE("aa0003e3 aa0003e4 b4ffffe0", STRICT(1), 0, PROBE_STEP);
	/* adr x3, .+64; cbz x0, . */
	CHECK_PLACE("10000203 b4000000", STRICT(1), 0, PROBE_ADDRESS);
}

/* ---- loops ---- */

#define FIVE_MOVES    "aa0603e7 aa0603e7 aa0603e7 aa0603e7 aa0603e7 " /* mov x7, x6 */
#define FIFTEEN_MOVES FIVE_MOVES FIVE_MOVES FIVE_MOVES

TEST(looks_at_so_many_bytes_only)
{
	CHECK_PLACE(FIFTEEN_MOVES " d65f03c0", STRICT(1), 60, PROBE_BRANCH);
	CHECK_PLACE(FIFTEEN_MOVES " aa0603e7 d65f03c0", STRICT(1), 0, PROBE_STEP);
}

/* An instruction of which not all is there is none. */
TEST(a_part_of_an_instruction_is_not_read)
{
	uint8_t code[CODE_MAX];
	size_t n = read_words(code, "aa0003e3 b4000200");
	struct probe_request request = STRICT(1);
	struct probe_place place;

	probe_place_find_on(&probe_machine_arm64, &place, &request, code, n - 1);
	CHECK_EQ(place.kind, PROBE_STEP);
	probe_place_find_on(&probe_machine_arm64, &place, &request, code, 3);
	CHECK_EQ(place.kind, PROBE_STEP);
}

/* ---- arguments that have moved ---- */

static const struct {
	const char *code;
	unsigned int n_args;
	enum probe_kind kind;
	unsigned int offset, args[2]; /* the registers */
} moved[] = {
	{ "aa0003f3 d2800000 52800021 d65f03c0", 1, PROBE_BRANCH, 12, { 19 } },
	{ "aa0103e3 f9400041 aa0303fc aa0403e3 d65f03c0", 2, PROBE_BRANCH, 16, { 0, 28 } },
	{ "2a0003f3 d2800000 d65f03c0", 1, PROBE_STEP }, /* half of it */
	{ "aa0003f3 d2800000 d2800013 d65f03c0", 1, PROBE_STEP },
	{ "aa0003ff d2800000 d65f03c0", 1, PROBE_STEP },
	{ "aa1f03e0 d65f03c0", 1, PROBE_STEP },
	{ "aa0003f3 d65f03c0", 1, PROBE_BRANCH, 4, { 0 } }, /* still where it belongs */
	{ "aa0003e8 aa0103e0 aa0803e1 d65f03c0", 2, PROBE_BRANCH, 12, { 1, 0 } }, /* exchanged */
};

TEST(follows_arguments_into_other_registers)
{
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		struct probe_place place = place_code(moved[i].code, MOVABLE(moved[i].n_args));

		CHECK_CASE(moved[i].code, place.kind, moved[i].kind);
		CHECK_CASE(moved[i].code, place.offset, moved[i].offset);
		for (unsigned int j = 0; j < moved[i].n_args && place.kind != PROBE_STEP; j++)
			CHECK_CASE(moved[i].code, place.args[j], moved[i].args[j]);
		CHECK_CASE(moved[i].code, place.is_moved, moved[i].offset > 4);
	}
}

TEST(knows_the_calling_convention)
{
	struct probe_place place = place_code("", STRICT(0));

	for (unsigned int i = 0; i < PROBE_MAX_ARGS; i++)
		CHECK_EQ(place.args[i], i);
}
