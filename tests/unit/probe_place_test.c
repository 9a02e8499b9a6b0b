// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places of probes in code of x86-64: on the entries of real allocators (recorded, so that none
 * need be installed), and on code made for each rule. Bytes are written as in a disassembly.
 */
#include <ctype.h>

#include "elf/x86_decode.h"
#include "probes/probe_machine.h"
#include "probes/probe_place.h"
#include "probe_places.h"
#include "unit.h"

static const struct entry entries[] = {
#include "alloc_entries.h"
};

static unsigned int digit_of(char c)
{
	return isdigit(c) ? c - '0' : c - 'a' + 10;
}

/* Blanks are skipped. */
static size_t read_hex(uint8_t *code, const char *text)
{
	size_t n = 0;

	for (; *text && n < CODE_MAX; text++)
		if (*text != ' ') {
			code[n++] = (uint8_t)(digit_of(text[0]) << 4 | digit_of(text[1]));
			text++;
		}
	return n;
}

static struct probe_place place_code(const char *text, struct probe_request request)
{
	struct probe_place place;
	uint8_t code[CODE_MAX];
	size_t n = read_hex(code, text);

	probe_place_find_on(&probe_machine_x86, &place, &request, code, n);
	return place;
}

#define MOVABLE(n) \
	((struct probe_request){ .n_args = (n), .wants_return = true, .may_move_args = true })

TEST(places_probes_in_the_allocators_of_debian)
{
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		check_entry(&entries[i], entries[i].code, 0);
}

/* As other distributions build them; those that begin with one here get a second. */
TEST(places_probes_behind_endbr64)
{
	char code[2 * CODE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		snprintf(code, sizeof(code), "f30f1efa%s", entries[i].code);
		check_entry(&entries[i], code, 4);
	}
}

/* ---- what is cheap ---- */

TEST(each_instruction_has_its_kind)
{
	/* takes what the kernel emulates */
	CHECK_PLACE("55 4889e5", STRICT(1), 0, PROBE_PUSH);	    /* push %rbp */
	CHECK_PLACE("4154 55", STRICT(1), 0, PROBE_PUSH);	    /* push %r12 */
	CHECK_PLACE("90 55", STRICT(1), 0, PROBE_NOP);		    /* nop */
	CHECK_PLACE("e9 00010000", STRICT(1), 0, PROBE_BRANCH);	    /* jmp */
	CHECK_PLACE("eb 10", STRICT(1), 0, PROBE_BRANCH);	    /* jmp */
	CHECK_PLACE("e8 00010000", STRICT(1), 0, PROBE_BRANCH);	    /* call */
	CHECK_PLACE("0f84 00010000", STRICT(1), 0, PROBE_BRANCH);   /* je */
	CHECK_PLACE("0f1f440000 c3", STRICT(1), 0, PROBE_LATE_NOP); /* nopl */
	/* leaves alone what the kernel steps over */
	CHECK_PLACE("6855000000", STRICT(1), 0, PROBE_STEP);	 /* push $0x55 */
	CHECK_PLACE("ff35 00000000", STRICT(1), 0, PROBE_STEP);	 /* push memory */
	CHECK_PLACE("4855", STRICT(1), 0, PROBE_STEP);		 /* rex.W push %rbp */
	CHECK_PLACE("6655", STRICT(1), 0, PROBE_STEP);		 /* push %bp */
	CHECK_PLACE("ff25 00000000", STRICT(1), 0, PROBE_STEP);	 /* jmp *memory */
	CHECK_PLACE("e3 10", STRICT(1), 0, PROBE_STEP);		 /* jrcxz */
	CHECK_PLACE("4190 55", STRICT(1), 0, PROBE_STEP);	 /* xchg %r8,%rax */
	CHECK_PLACE("f390 55", STRICT(1), 0, PROBE_STEP);	 /* pause */
	CHECK_PLACE("f2e9 00010000", STRICT(1), 0, PROBE_STEP);	 /* bnd jmp */
	CHECK_PLACE("66e9 0001 0000", STRICT(1), 0, PROBE_STEP); /* jmpw */
	/* prefers a push to a branch and the first of equals */
	CHECK_PLACE("0f1f00 55", STRICT(1), 3, PROBE_PUSH);	/* nopl; push */
	CHECK_PLACE("0f1f00 7410", STRICT(1), 3, PROBE_BRANCH); /* nopl; je */
	CHECK_PLACE("0f1f00 0f1f00 c3", STRICT(1), 0, PROBE_LATE_NOP);
	/* mov %rdi,-8(%rsp): since 6.18 a probe on the nop is a call, which overwrites it */
	CHECK_PLACE("48897c24f8 0f1f440000 c3", ENTRY(1), 0, PROBE_STEP);
	CHECK_PLACE("4885ff 90", STRICT(1), 3, PROBE_NOP);
	CHECK_PLACE("4885ff 55 53", STRICT(1), 3, PROBE_PUSH);
	CHECK_PLACE("55 90", ENTRY(1), 0, PROBE_PUSH);
}

/* ---- what may be skipped ---- */

TEST(what_may_be_skipped)
{
	/* keeps arguments */
	CHECK_PLACE("31ff 55", STRICT(1), 0, PROBE_STEP); /* xor %edi,%edi */
	CHECK_PLACE("31ff 55", STRICT(0), 2, PROBE_PUSH);
	CHECK_PLACE("31f6 55", STRICT(1), 2, PROBE_PUSH); /* xor %esi,%esi */
	CHECK_PLACE("31f6 55", STRICT(2), 0, PROBE_STEP);
	CHECK_PLACE("4989f8 55", STRICT(4), 3, PROBE_PUSH); /* mov %rdi,%r8 */
	CHECK_PLACE("4989f8 55", STRICT(5), 0, PROBE_STEP);
	CHECK_PLACE("4d8d4801 55", STRICT(5), 4, PROBE_PUSH); /* lea 1(%r8),%r9 */
	CHECK_PLACE("4d8d4801 55", STRICT(6), 0, PROBE_STEP);
	CHECK_PLACE("48f7e6 55", STRICT(2), 3, PROBE_PUSH); /* mul %rsi */
	CHECK_PLACE("48f7e6 55", STRICT(3), 0, PROBE_STEP);
	CHECK_PLACE("4899 55", STRICT(3), 0, PROBE_STEP);	 /* cqo */
	CHECK_PLACE("b9 00100000 55", STRICT(3), 5, PROBE_PUSH); /* mov $0x1000,%ecx */
	CHECK_PLACE("b9 00100000 55", STRICT(4), 0, PROBE_STEP);
	CHECK_PLACE("400f94c7 55", STRICT(1), 0, PROBE_STEP); /* sete %dil */
	CHECK_PLACE("480f44fe 55", STRICT(1), 0, PROBE_STEP); /* cmove %rsi,%rdi */
	CHECK_PLACE("fec9 55", STRICT(4), 0, PROBE_STEP);     /* dec %cl */
	CHECK_PLACE("fecd 55", STRICT(4), 0, PROBE_STEP);     /* dec %ch */
	CHECK_PLACE("80c501 55", STRICT(4), 0, PROBE_STEP);   /* add $1,%ch */
	/* comparing changes nothing */
	CHECK_PLACE("4839f7 7410", STRICT(6), 3, PROBE_BRANCH);		 /* cmp %rsi,%rdi */
	CHECK_PLACE("4883ff20 7410", STRICT(6), 4, PROBE_BRANCH);	 /* cmp $32,%rdi */
	CHECK_PLACE("48f7c700100000 7410", STRICT(6), 7, PROBE_BRANCH);	 /* test */
	CHECK_PLACE("480fa3f7 7410", STRICT(6), 4, PROBE_BRANCH);	 /* bt %rsi,%rdi */
	CHECK_PLACE("803d00000000 00 7410", STRICT(6), 7, PROBE_BRANCH); /* cmpb $0,memory */
	/* writes no memory */
	CHECK_PLACE("48893d 00000000 55", STRICT(0), 0, PROBE_STEP);	/* mov %rdi,memory */
	CHECK_PLACE("ff05 00000000 55", STRICT(0), 0, PROBE_STEP);	/* incl memory */
	CHECK_PLACE("830d 00000000 01 55", STRICT(0), 0, PROBE_STEP);	/* orl $1,memory */
	CHECK_PLACE("8b05 00000000 55", STRICT(0), 6, PROBE_PUSH);	/* mov memory,%eax */
	CHECK_PLACE("64488b042528000000 55", STRICT(0), 9, PROBE_PUSH); /* mov %fs:0x28,%rax */
	/* moves rsp only where the return is not wanted */
	CHECK_PLACE("4883ec08 e800010000", STRICT(1), 0, PROBE_STEP); /* sub $8,%rsp; call */
	CHECK_PLACE("4883ec08 e800010000", ENTRY(1), 4, PROBE_BRANCH);
	CHECK_PLACE("488d6424f8 7410", STRICT(1), 0, PROBE_STEP); /* lea -8(%rsp),%rsp */
	CHECK_PLACE("4883ec08 55", STRICT(1), 0, PROBE_STEP);
	CHECK_PLACE("6855000000 55", ENTRY(1), 0, PROBE_STEP); /* push $0x55 */
	CHECK_PLACE("58 55", ENTRY(1), 0, PROBE_STEP);	       /* pop %rax */
}

TEST(the_search_ends)
{
	/* an unknown instruction ends the search */
	CHECK_PLACE("0f05 55", STRICT(0), 0, PROBE_STEP);     /* syscall */
	CHECK_PLACE("c3 55", STRICT(0), 0, PROBE_STEP);	      /* ret */
	CHECK_PLACE("cc 55", STRICT(0), 0, PROBE_STEP);	      /* int3 */
	CHECK_PLACE("ffe0 55", STRICT(0), 0, PROBE_STEP);     /* jmp *%rax */
	CHECK_PLACE("48f7f6 55", STRICT(0), 0, PROBE_STEP);   /* div %rsi */
	CHECK_PLACE("f00fb10f 55", STRICT(0), 0, PROBE_STEP); /* lock cmpxchg */
	CHECK_PLACE("c5f877 55", STRICT(0), 0, PROBE_STEP);   /* vzeroupper */
	CHECK_PLACE("f30f1ec8 55", STRICT(0), 0, PROBE_STEP); /* rdsspd %eax */
	CHECK_PLACE("06 55", STRICT(0), 0, PROBE_STEP);	      /* not in 64-bit mode */
	CHECK_PLACE("48", STRICT(0), 0, PROBE_STEP);	      /* cut off */
	CHECK_PLACE("", STRICT(0), 0, PROBE_STEP);
	/* a branch ends the search */
	CHECK_PLACE("4885ff 7402 55 c3", STRICT(1), 3, PROBE_BRANCH); /* test; je; push */
	CHECK_PLACE("4885ff e302 55 c3", STRICT(1), 0, PROBE_STEP);   /* test; jrcxz; push */
	/* a jump back to the place rules it out */
	CHECK_PLACE("4885ff 7403 ebfc 90 c3", STRICT(1), 0, PROBE_STEP);      /* jmp .+3 */
	CHECK_PLACE("4885ff 7406 e9f9ffffff c3", STRICT(1), 0, PROBE_STEP);   /* the same, long */
	CHECK_PLACE("4885ff 7408 0f85f8ffffff c3", STRICT(1), 0, PROBE_STEP); /* jne */
	CHECK_PLACE("4885ff 7406 e9f6ffffff c3", STRICT(1), 3, PROBE_BRANCH); /* to the beginning */
	CHECK_PLACE("4885ff 7404 e2fc c3", STRICT(1), 0, PROBE_STEP);	      /* loop */
	CHECK_PLACE("4889f8 4885ff 7405 ebf9 c3", STRICT(1), 0, PROBE_STEP);  /* into the middle */
	CHECK_PLACE("4885ff 7403 06 ebfb 90 c3", STRICT(1), 0, PROBE_STEP);   /* behind nonsense */
}

/* ---- arguments that have moved ---- */

static const struct {
	const char *code;
	unsigned int n_args;
	enum probe_kind kind;
	unsigned int offset, arg, reg; /* the argument's register */
} moved[] = {
	{ "4889f8 31ff 7410", 2, PROBE_BRANCH, 5, 0, 0 }, /* mov %rdi,%rax; xor */
	{ "4889f8 31ff 7410", 2, PROBE_BRANCH, 5, 1, 6 },
	{ "4889fe 488b3f 4889f2 7410", 1, PROBE_BRANCH, 9, 0, 2 }, /* rdi to rsi to rdx */
	{ "4989c9 31c9 7410", 6, PROBE_STEP }, /* mov %rcx,%r9: the sixth is lost */
	{ "4989c9 31c9 7410", 4, PROBE_BRANCH, 5, 3, 9 },
	{ "89f8 31ff 7410", 1, PROBE_STEP },			   /* mov %edi,%eax: half of it */
	{ "4889f8 31ff 31c0 7410", 1, PROBE_STEP },		   /* overwritten there too */
	{ "4889f8 7410", 1, PROBE_BRANCH, 3, 0, 7 },		   /* still where it belongs */
	{ "4889f8 4889f7 4889c6 7410", 2, PROBE_BRANCH, 9, 0, 0 }, /* rdi and rsi change places */
	{ "4889f8 4889f7 4889c6 7410", 2, PROBE_BRANCH, 9, 1, 7 },
};

TEST(follows_arguments_into_other_registers)
{
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		struct probe_place place = place_code(moved[i].code, MOVABLE(moved[i].n_args));

		CHECK_CASE(moved[i].code, place.kind, moved[i].kind);
		CHECK_CASE(moved[i].code, place.offset, moved[i].offset);
		if (place.kind != PROBE_STEP)
			CHECK_CASE(moved[i].code, place.args[moved[i].arg], moved[i].reg);
		CHECK_CASE(moved[i].code, place.is_moved, moved[i].offset > 3);
	}
}

/* ---- lengths ---- */

TEST(knows_the_length_of_instructions)
{
	static const struct {
		const char *code;
		size_t bytes;
	} cases[] = {
		{ "f30f1efa", 4 },
		{ "488d05a4050000", 7 },
		{ "488b44c810", 5 },
		{ "488b04cd00000000", 8 },
		{ "66c7050000000000ff", 9 },
		{ "48b80102030405060708", 10 },
		{ "c8100000", 4 },
		{ "f6c101", 3 },
		{ "f6d9", 2 },
		{ "66f7c10100", 5 },
		{ "c5f96e0cd5c9000000", 9 },
		{ "c4e2791805c9000000", 9 },
		{ "c4e37d19c101", 6 },
		{ "62f17c48100500000000", 10 },
		{ "660f3a0fc108", 6 },
		{ "660f3800c1", 5 },
		{ "0f0b", 2 },
		{ "666648e800000000", 8 },
		{ "a11122334455667788", 9 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t code[CODE_MAX] = { 0 };
		size_t n = read_hex(code, cases[i].code);
		struct x86_insn insn;

		CHECK_EQ(n, cases[i].bytes);
		CHECK(x86_decode(&insn, code, sizeof(code)));
		CHECK_EQ(insn.bytes, cases[i].bytes);
		CHECK(!x86_decode(&insn, code, n - 1));
	}
}

TEST(prefixes_without_end_are_no_instruction)
{
	uint8_t code[CODE_MAX];
	struct x86_insn insn;

	memset(code, 0x66, sizeof(code));
	CHECK(!x86_decode(&insn, code, sizeof(code)));
	code[14] = 0x90;
	CHECK(x86_decode(&insn, code, sizeof(code)));
	CHECK_EQ(insn.bytes, 15);
}
