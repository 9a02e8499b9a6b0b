// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind rows of Go code: those of a hand-made table, and what the runtime's assembly is understood
 * to do. "make check-go" compares stacks with what Go's profiler says.
 */
#include "../go/image.h"
#include "rule_text.h"
#include "unwind/go_code.h"
#include "unwind/go_rows.h"

static const struct go_machine *const x86 = &go_machine_x86;

static struct cfi_table t;
static struct go_image *m;
static size_t size;

AFTER_EACH()
{
	cfi_free(&t);
}

static void make(enum go_image_layout layout)
{
	m = until_end(go_image_new(layout, &size));
}

static void fill_rows(void)
{
	struct elf64 elf;

	CHECK_EQ(elf64_open_image(&elf, m, size), 0);
	go_rows_fill(&t, &elf);
}

#define CHECK_RULE(rule, wanted_kind, wanted_cfa, wanted_bp) \
	do {                                                 \
		CHECK_EQ((rule).kind, wanted_kind);          \
		CHECK_EQ((rule).cfa_off, wanted_cfa);        \
		CHECK_EQ((rule).bp_off, wanted_bp);          \
	} while (0)

static const char *rows(void)
{
	return PRINTED(f, print_rows(f, &t, GO_TEXT, GO_TEXT_BYTES));
}

TEST(frame_sizes_become_rows)
{
	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		make(layout);
		fill_rows();
		CHECK_STR(rows(), "sp+8; 4 sp+40 bp@cfa-16; 3c sp+8");
		CHECK_EQ(t.count, 4);
		cfi_free(&t);
	}
}

/* A program with C in it has an .eh_frame, which says nothing of the Go part. */
TEST(rows_fill_the_gap_that_c_leaves)
{
	const struct unwind_rule by_bp = { .kind = UNWIND_BP, .cfa_off = 16 }, gap = {};

	make(GO_IMAGE_1_20);
	cfi_append(&t, GO_TEXT - 0x800, &by_bp);
	cfi_append(&t, GO_TEXT - 0x700, &gap);
	fill_rows();
	CHECK_STR(rows(), "fffffffffffff800 bp+16; fffffffffffff900 -; sp+8; "
			  "4 sp+40 bp@cfa-16; 3c sp+8");
}

/* Functions that overlap could be walked through any number of times. */
TEST(functions_beyond_the_code_have_no_rows)
{
	make(GO_IMAGE_1_20);
	m->segments[0].p_filesz = 100; /* the second one isn't all in it */
	fill_rows();
	CHECK_STR(rows(), "sp+8; 4 sp+40 bp@cfa-16; 3c sp+8; 40 -");
	cfi_free(&t);
	m->segments[0].p_flags = PF_R;
	fill_rows();
	CHECK_EQ(t.count, 0);
}

/* ---- assembly ---- */

#define CODE(bytes) ((struct go_code){ (const uint8_t *)(bytes), sizeof(bytes) - 1 })

static const struct go_saved nowhere;

#define LOAD_G "\x64\x48\x8b\x04\x25\xf8\xff\xff\xff" /* mov %fs:-8,%rax */
#define LOAD_G_CX                                                   \
	"\x48\xc7\xc1\xf8\xff\xff\xff"		 /* mov $-8,%rcx */ \
	"\x64\x48\x8b\x01"			 /* mov %fs:(%rcx),%rax */
#define LOAD_M	  "\x48\x8b\x58\x30"		 /* mov 48(%rax),%rbx */
#define LOAD_G0	  "\x48\x8b\x13"		 /* mov (%rbx),%rdx */
#define LOAD_CURG "\x48\x8b\x83\xc0\x00\x00\x00" /* mov 192(%rbx),%rax */
#define COMPARE	  "\x48\x39\xd0"		 /* cmp %rdx,%rax */
#define GO_BACK	  "\x48\x8b\x60\x38"		 /* mov 56(%rax),%rsp */
#define GO_AWAY	  "\x48\x8b\x62\x38"		 /* mov 56(%rdx),%rsp */
#define CALL	  "\xff\x17"			 /* call *(%rdi) */
#define RET	  "\xc3"
#define MORESTACK                                      \
	"\x48\x8d\x44\x24\x08" /* lea 8(%rsp),%rax */  \
	"\x48\x89\x46\x38"     /* mov %rax,56(%rsi) */ \
	"\x48\x89\x6e\x68"     /* mov %rbp,104(%rsi) */

static void check_stack_rule(struct unwind_rule rule, int bp_off)
{
	CHECK_EQ(rule.kind, UNWIND_GO_STACK);
	CHECK_EQ(rule.bp_off, bp_off);
	CHECK_EQ(unwind_go_m(rule.cfa_off), 48);
	CHECK_EQ(unwind_go_curg(rule.cfa_off), 192);
	CHECK_EQ(unwind_go_sp(rule.cfa_off), 56);
	CHECK_EQ(rule.extra_place, 6);
}

/* By how systemstack comes back, not by how it leaves. */
TEST(the_way_back_to_the_goroutine_is_read_from_the_code)
{
	struct go_code morestack = CODE(MORESTACK), systemstack;

	systemstack = CODE(
		LOAD_G LOAD_M LOAD_G0 COMPARE GO_AWAY CALL LOAD_G LOAD_M LOAD_CURG GO_BACK RET);
	check_stack_rule(x86->find_stack(&systemstack, &morestack), -8);
	systemstack =
		CODE(LOAD_G_CX LOAD_M COMPARE GO_AWAY CALL LOAD_G_CX LOAD_M LOAD_CURG GO_BACK RET);
	check_stack_rule(x86->find_stack(&systemstack, &morestack), -8);
}

TEST(what_is_not_understood_is_bad)
{
	struct go_code morestack = CODE(MORESTACK), none = { .bytes = NULL }, systemstack;

	systemstack = CODE(LOAD_G LOAD_M COMPARE LOAD_CURG GO_BACK);
	CHECK_EQ(x86->find_stack(&systemstack, &morestack).kind, UNWIND_BAD);
	systemstack = CODE(LOAD_G LOAD_M LOAD_CURG GO_AWAY);
	CHECK_EQ(x86->find_stack(&systemstack, &morestack).kind, UNWIND_BAD);
	systemstack = CODE(LOAD_G LOAD_M LOAD_CURG GO_BACK);
	CHECK_EQ(x86->find_stack(&systemstack, &none).kind, UNWIND_BAD);
	CHECK_EQ(x86->find_stack(&none, &none).kind, UNWIND_BAD);
	CHECK_EQ(x86->find_switch(&systemstack, &nowhere, 0).kind, UNWIND_BAD);
}

TEST(the_stack_pointers_first_and_last_writes_are_found)
{
	struct go_code code = CODE(COMPARE GO_AWAY CALL "\x48\x89\xdc" /* mov %rbx,%rsp */ RET);
	size_t first, last;

	CHECK(x86->moves_stack(&code, &first, &last));
	CHECK_EQ(first, 7);
	CHECK_EQ(last, 12);
	code = CODE("\x48\x83\xe4\xf0" RET); /* and $-16,%rsp */
	CHECK(x86->moves_stack(&code, &first, &last));
	CHECK_EQ(first, 4);
	code = CODE(
		"\x55\x48\x89\xe5\x48\x83\xec\x10\x48\x83\xc4\x10\x5d" RET); /* an ordinary frame */
	CHECK(!x86->moves_stack(&code, &first, &last));
}

TEST(a_saved_frame_pointer_is_found)
{
	struct go_code code = CODE("\x48\x83\xec\x20"	  /* sub $32,%rsp */
				   "\x48\x89\x6c\x24\x18" /* mov %rbp,24(%rsp) */
				   "\x48\x8d\x6c\x24\x18");
	struct go_saved saved;

	CHECK(x86->find_saved(&code, 4, code.size, 32, &saved));
	CHECK_EQ(saved.bp_off, -16);
	CHECK_EQ(saved.from, 9);
	CHECK(!x86->find_saved(&code, 9, code.size, 32, &saved));
	CHECK(!x86->find_saved(&code, 9, code.size, 8, &saved));
	code = CODE("\x55" RET);
	CHECK(x86->find_saved(&code, 1, code.size, 8, &saved));
	CHECK_EQ(saved.bp_off, -16);
	CHECK_EQ(saved.from, 1);
	CHECK(!x86->find_saved(&code, 0, code.size, 8, &saved));
}

/* Before Go 1.21: mov 48(%rsp),%rdi; mov 8(%rdi),%rsi; sub 40(%rsp),%rsi; mov %rsi,%rsp */
TEST(the_way_back_from_c_is_read_from_the_code)
{
	struct go_code code = CODE(
		"\xff\xd0\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x28\x48\x89\xf4");
	struct unwind_rule rule = x86->find_switch(&code, &nowhere, 0);

	CHECK_EQ(rule.kind, UNWIND_GO_CALL);
	CHECK_EQ(rule.cfa_off, 40);
}

TEST(any_bytes_are_safe)
{
	uint8_t bytes[64];
	struct go_saved saved;
	size_t first, last;

	srand(3);
	for (int i = 0; i < 100000; i++) {
		struct go_code code = { bytes, (size_t)(rand() % 64) };

		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)(rand() % 3 ? rand() : 0x48 + rand() % 0x48);
		for (int j = 0; j < 2; j++) {
			const struct go_machine *machine = j ? x86 : &go_machine_arm64;

			machine->find_stack(&code, &code);
			machine->find_switch(&code, &nowhere, 0);
			machine->moves_stack(&code, &first, &last);
			CHECK(!machine->find_saved(&code, 0, code.size, 32, &saved) ||
			      saved.from <= code.size + 3);
		}
	}
}

/* ---- arm64 ---- */

static const struct go_machine *const arm64 = &go_machine_arm64;

#define WORDS(...)                                                             \
	((struct go_code){ (const uint8_t *)(const uint32_t[]){ __VA_ARGS__ }, \
			   sizeof((const uint32_t[]){ __VA_ARGS__ }) })

enum {
	PUSH_LINK = (int)0xf81f0ffe,	 /* str x30, [sp, #-16]! */
	SAVE_X29 = (int)0xf81f83fd,	 /* stur x29, [sp, #-8] */
	SET_X29 = (int)0xd10023fd,	 /* sub x29, sp, #8 */
	LOAD_ARM_M = (int)0xf9401b83,	 /* ldr x3, [x28, #48] */
	LOAD_ARM_CURG = (int)0xf940607c, /* ldr x28, [x3, #192] */
	LOAD_ARM_G0 = (int)0xf940007c,	 /* ldr x28, [x3] */
	LOAD_ARM_SP = (int)0xf9401f80,	 /* ldr x0, [x28, #56] */
	SET_ARM_SP = (int)0x9100001f,	 /* mov sp, x0 */
	LOAD_X29 = (int)0xf940379d,	 /* ldr x29, [x28, #104] */
	CALL_X3 = (int)0xd63f0060,	 /* blr x3 */
};

TEST(frames_of_arm64_have_a_record_at_their_lower_end)
{
	struct unwind_rule rule = arm64->frame_rule(0, false, 0);

	CHECK_EQ(rule.kind, UNWIND_SP);
	CHECK_EQ(rule.cfa_off, 0);
	CHECK_EQ(rule.extra_place, UNWIND_RA_IN_LINK);
	rule = arm64->frame_rule(48, false, arm64->usual_bp_off(48));
	CHECK_EQ(rule.cfa_off, 48);
	CHECK_EQ(rule.bp_kind, UNWIND_BP_AT_CFA);
	CHECK_EQ(rule.bp_off, -7);
	CHECK_EQ(rule.extra_place, UNWIND_RA_BEHIND_BP);
	rule = arm64->frame_rule(48, true, arm64->usual_bp_off(48));
	CHECK_RULE(rule, UNWIND_SP_EXACT, 64, -9);
	CHECK_EQ(arm64->frame_rule(1 << 20, false, arm64->usual_bp_off(1 << 20)).kind, UNWIND_BAD);
}

TEST(the_way_back_on_arm64_is_read_from_the_code)
{
	struct go_code systemstack = WORDS(PUSH_LINK, SAVE_X29, SET_X29, LOAD_ARM_M, LOAD_ARM_G0,
					   LOAD_ARM_SP, SET_ARM_SP, LOAD_X29, CALL_X3, LOAD_ARM_M,
					   LOAD_ARM_CURG, LOAD_ARM_SP, SET_ARM_SP, LOAD_X29);
	size_t first, last;

	check_stack_rule(arm64->find_stack(&systemstack, &systemstack), 2);
	CHECK(arm64->moves_stack(&systemstack, &first, &last));
	CHECK_EQ(first, 28);
	CHECK_EQ(last, 52);
	systemstack.size = 20;
	CHECK_EQ(arm64->find_stack(&systemstack, &systemstack).kind, UNWIND_BAD);
}

TEST(a_large_frame_of_arm64_moves_no_stack)
{
	struct go_code code = WORDS(0xd11043f4 /* sub x20, sp, #1040 */,
				    0xa93ffa9d /* stp x29, x30, [x20, #-8] */,
				    0x9100029f /* mov sp, x20 */, SET_X29);
	struct go_saved saved;
	size_t first, last;

	CHECK(!arm64->moves_stack(&code, &first, &last));
	CHECK(arm64->find_saved(&code, 12, 16, 1040, &saved));
	CHECK_EQ(saved.bp_off, -1048);
	CHECK_EQ(saved.from, 12);
	CHECK(!arm64->find_saved(&code, 0, 4, 0, &saved));
}

/* By x29, unless asmcgocall's words are there: a goroutine's stack may have been moved. */
TEST(the_way_back_from_c_on_arm64_is_read_from_the_code)
{
	struct go_code code = WORDS(PUSH_LINK, SAVE_X29, SET_X29, SET_ARM_SP, CALL_X3);
	struct unwind_rule rule;
	struct go_saved saved;

	CHECK(arm64->find_saved(&code, 4, code.size, 16, &saved));
	CHECK_EQ(saved.from, 8);
	rule = arm64->find_switch(&code, &saved, 16);
	CHECK_RULE(rule, UNWIND_SWITCH, 24, -3);
	CHECK_EQ(arm64->find_switch(&code, &nowhere, 16).kind, UNWIND_BAD);
	code = WORDS(0xf90003e4 /* str x4, [sp] */, 0xf9400484 /* ldr x4, [x4, #8] */,
		     0xcb020084 /* sub x4, x4, x2 */, 0xf90007e4 /* str x4, [sp, #8] */);
	rule = arm64->find_switch(&code, &saved, 16);
	CHECK_RULE(rule, UNWIND_GO_CALL, 0, 2);
}
