// SPDX-License-Identifier: GPL-2.0-only
/* Unwind rules derived from the instructions of functions that are known to begin somewhere. */
#include "elf/x86_rows.h"
#include "unit.h"

#define MAX_BYTES 64

static struct unwind_rule rules[MAX_BYTES];
static size_t end;

/* Each byte has the rule of the row before it. */
static void take(size_t offset, const struct unwind_rule *rule, void *arg)
{
	(void)arg;
	for (; end < offset; end++)
		rules[end] = end ? rules[end - 1] : (struct unwind_rule){ .kind = UNWIND_GAP };
	rules[end++] = *rule;
}

/* Derives the rules of code of up to two functions. */
static void derive(const uint8_t *code, size_t bytes, uint32_t first, uint32_t second)
{
	uint32_t entries[] = { first, second };

	end = 0;
	x86_rows_derive(&(struct x86_code){ .code = code,
					    .bytes = bytes,
					    .entries = entries,
					    .n_entries = second ? 2 : 1 },
			take, NULL);
	while (end < bytes) {
		rules[end] = rules[end - 1];
		end++;
	}
}

/* The bytes up to the caller's stack; 0: unknown. */
static int cfa_at(size_t at)
{
	return rules[at].kind == UNWIND_SP ? rules[at].cfa_off : 0;
}

TEST(a_function_is_followed_into_those_that_it_calls)
{
	static const uint8_t code[] = {
		0x53,			      /*  0 push %rbx */
		0xe8, 0x04, 0x00, 0x00, 0x00, /*  1 call 10 */
		0x5b,			      /*  6 pop %rbx */
		0xc3,			      /*  7 ret */
		0x90, 0x90,		      /*  8 padding */
		0x50,			      /* 10 push %rax */
		0x58,			      /* 11 pop %rax */
		0xc3,			      /* 12 ret */
		0x50,			      /* 13 push %rax: nobody is known to call it */
		0x58, 0xc3,
	};

	derive(code, sizeof(code), 0, 0);
	CHECK_EQ(cfa_at(0), 8);
	CHECK_EQ(cfa_at(1), 16);
	CHECK_EQ(cfa_at(7), 8);
	CHECK_EQ(cfa_at(8), 0);
	CHECK_EQ(cfa_at(10), 8);
	CHECK_EQ(cfa_at(11), 16);
	CHECK_EQ(cfa_at(13), 0);
}

/* A call that never returns is the last instruction of its function. */
TEST(the_stack_of_a_function_does_not_reach_into_the_next_one)
{
	static const uint8_t code[] = {
		0x85, 0xff,		      /*  0 test %edi,%edi */
		0x75, 0x01,		      /*  2 jne 5 */
		0xc3,			      /*  4 ret */
		0x50,			      /*  5 push %rax */
		0xe8, 0xf5, 0x00, 0x00, 0x00, /*  6 call far away */
		0x53,			      /* 11 push %rbx */
		0x5b,			      /* 12 pop %rbx */
		0xc3,			      /* 13 ret */
	};

	derive(code, sizeof(code), 0, 11);
	CHECK_EQ(cfa_at(0), 8);
	CHECK_EQ(cfa_at(11), 8);
	CHECK_EQ(cfa_at(12), 16);
	derive(code, sizeof(code), 0, 0); /* the second one isn't known: nothing fits */
	CHECK_EQ(cfa_at(12), 0);
}

/* It may belong to the function before it, or to another one. */
TEST(code_that_leads_to_no_return_is_unknown)
{
	static const uint8_t code[] = {
		0x85, 0xff,		      /*  0 test %edi,%edi */
		0x75, 0x01,		      /*  2 jne 5 */
		0xc3,			      /*  4 ret */
		0x50,			      /*  5 push %rax */
		0xe8, 0xf5, 0x00, 0x00, 0x00, /*  6 call far away, which never returns */
		0x50,			      /* 11 push %rax: another function */
		0xe8, 0xf0, 0x00, 0x00, 0x00, /* 12 call far away */
		0xf4,			      /* 17 hlt */
	};

	derive(code, sizeof(code), 0, 0);
	CHECK_EQ(cfa_at(2), 8);
	CHECK_EQ(cfa_at(6), 0);
	CHECK_EQ(cfa_at(12), 0);
}

TEST(a_signal_trampoline_is_no_function)
{
	static const uint8_t narrow[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05, 0xc3 },
			     wide[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05, 0xc3 };

	derive(narrow, sizeof(narrow), 0, 0);
	CHECK_EQ(cfa_at(0), 0);
	derive(wide, sizeof(wide), 0, 0);
	CHECK_EQ(cfa_at(0), 0);
}

/* The targets of a jump by a table are unknown, and what is after it may be one of them. */
TEST(code_that_only_a_computed_jump_reaches_is_unknown)
{
	static const uint8_t code[] = {
		0x50,	    /* 0 push %rax */
		0xff, 0xe2, /* 1 jmp *%rdx */
		0x58,	    /* 3 pop %rax */
		0xc3,	    /* 4 ret */
	};

	derive(code, sizeof(code), 0, 0);
	CHECK_EQ(cfa_at(1), 0);
	CHECK_EQ(cfa_at(3), 0);
}
