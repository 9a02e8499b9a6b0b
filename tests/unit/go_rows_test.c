// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind rows of Go code: those of a hand-made table, and what the runtime's assembly is understood
 * to do. "make check-go" compares stacks with what Go's profiler says.
 */
#include "../go/image.h"
#include "unit.h"
#include "unwind/go_code.h"
#include "unwind/go_rows.h"

static struct cfi_table rows_of(const struct go_image *m, size_t size)
{
	struct cfi_table t = { .rows = NULL };
	struct elf64 elf;

	CHECK_EQ(elf64_open_image(&elf, m, size), 0);
	go_rows_fill(&t, &elf);
	return t;
}

static void check_rule(const struct cfi_table *t, uint64_t at, int kind, int cfa_off, int bp_off)
{
	struct unwind_rule rule = cfi_find(t, GO_TEXT + at);

	CHECK_EQ(rule.kind, kind);
	CHECK_EQ(rule.cfa_off, cfa_off);
	CHECK_EQ(rule.bp_off, bp_off);
	CHECK_EQ(rule.bp_kind, bp_off ? UNWIND_BP_AT_CFA : UNWIND_BP_SAME);
}

TEST(frame_sizes_become_rows)
{
	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		size_t size;
		struct go_image *m = go_image_new(layout, &size);
		struct cfi_table t = rows_of(m, size);

		CHECK_EQ(t.count, 4);
		check_rule(&t, 0, UNWIND_SP, 8, 0);
		check_rule(&t, 3, UNWIND_SP, 8, 0);
		check_rule(&t, 4, UNWIND_SP, 40, -16);
		check_rule(&t, 59, UNWIND_SP, 40, -16);
		check_rule(&t, 60, UNWIND_SP, 8, 0);
		check_rule(&t, 127, UNWIND_SP, 8, 0);
		check_rule(&t, 128, UNWIND_GAP, 0, 0);
		cfi_free(&t);
		free(m);
	}
}

/* A program with C in it has an .eh_frame, which says nothing of the Go part. */
TEST(rows_fill_the_gap_that_c_leaves)
{
	struct cfi_row *rows = mem_zalloc(2, sizeof(*rows));
	struct cfi_table t = { .rows = rows, .count = 2 };
	struct elf64 elf;
	size_t size;
	struct go_image *m = go_image_new(GO_IMAGE_1_20, &size);

	rows[0] = (struct cfi_row){ 0x800, { .kind = UNWIND_BP, .cfa_off = 16 } };
	rows[1] = (struct cfi_row){ 0x900, { .kind = UNWIND_GAP } };
	CHECK_EQ(elf64_open_image(&elf, m, size), 0);
	go_rows_fill(&t, &elf);
	CHECK_EQ(cfi_find(&t, 0x880).kind, UNWIND_BP);
	CHECK_EQ(cfi_find(&t, 0x900).kind, UNWIND_GAP);
	check_rule(&t, 4, UNWIND_SP, 40, -16);
	check_rule(&t, 128, UNWIND_GAP, 0, 0);
	cfi_free(&t);
	free(m);
}

/* Functions that overlap could be walked through any number of times. */
TEST(functions_beyond_the_code_have_no_rows)
{
	size_t size;
	struct go_image *m = go_image_new(GO_IMAGE_1_20, &size);
	struct cfi_table t;

	m->segments[0].p_filesz = 100; /* the second one isn't all in it */
	t = rows_of(m, size);
	check_rule(&t, 4, UNWIND_SP, 40, -16);
	check_rule(&t, 64, UNWIND_GAP, 0, 0);
	cfi_free(&t);
	m->segments[0].p_flags = PF_R;
	t = rows_of(m, size);
	CHECK_EQ(t.count, 0);
	cfi_free(&t);
	free(m);
}

/* ---- assembly ---- */

#define CODE(bytes) ((struct go_code){ (const uint8_t *)(bytes), sizeof(bytes) - 1 })

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

static void check_stack_rule(struct unwind_rule rule)
{
	CHECK_EQ(rule.kind, UNWIND_GO_STACK);
	CHECK_EQ(rule.bp_off, -8);
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
	check_stack_rule(go_code_find_stack(&systemstack, &morestack));
	systemstack =
		CODE(LOAD_G_CX LOAD_M COMPARE GO_AWAY CALL LOAD_G_CX LOAD_M LOAD_CURG GO_BACK RET);
	check_stack_rule(go_code_find_stack(&systemstack, &morestack));
}

TEST(what_is_not_understood_is_bad)
{
	struct go_code morestack = CODE(MORESTACK), none = { .bytes = NULL }, systemstack;

	systemstack = CODE(LOAD_G LOAD_M COMPARE LOAD_CURG GO_BACK);
	CHECK_EQ(go_code_find_stack(&systemstack, &morestack).kind, UNWIND_BAD);
	systemstack = CODE(LOAD_G LOAD_M LOAD_CURG GO_AWAY);
	CHECK_EQ(go_code_find_stack(&systemstack, &morestack).kind, UNWIND_BAD);
	systemstack = CODE(LOAD_G LOAD_M LOAD_CURG GO_BACK);
	CHECK_EQ(go_code_find_stack(&systemstack, &none).kind, UNWIND_BAD);
	CHECK_EQ(go_code_find_stack(&none, &none).kind, UNWIND_BAD);
	CHECK_EQ(go_code_find_call(&systemstack).kind, UNWIND_BAD);
}

TEST(the_stack_pointers_first_and_last_writes_are_found)
{
	struct go_code code = CODE(COMPARE GO_AWAY CALL "\x48\x89\xdc" /* mov %rbx,%rsp */ RET);
	size_t first, last;

	CHECK(go_code_moves_stack(&code, &first, &last));
	CHECK_EQ(first, 7);
	CHECK_EQ(last, 12);
	code = CODE("\x48\x83\xe4\xf0" RET); /* and $-16,%rsp */
	CHECK(go_code_moves_stack(&code, &first, &last));
	CHECK_EQ(first, 4);
	code = CODE(
		"\x55\x48\x89\xe5\x48\x83\xec\x10\x48\x83\xc4\x10\x5d" RET); /* an ordinary frame */
	CHECK(!go_code_moves_stack(&code, &first, &last));
}

TEST(a_saved_frame_pointer_is_found)
{
	struct go_code code = CODE("\x48\x83\xec\x20"	  /* sub $32,%rsp */
				   "\x48\x89\x6c\x24\x18" /* mov %rbp,24(%rsp) */
				   "\x48\x8d\x6c\x24\x18");
	int32_t place;
	size_t behind;

	CHECK(go_code_saves_bp(&code, 4, code.size, &place, &behind));
	CHECK_EQ(place, 24);
	CHECK_EQ(behind, 9);
	CHECK(!go_code_saves_bp(&code, 9, code.size, &place, &behind));
	CHECK(!go_code_pushes_bp(&code, 4));
	code = CODE("\x55" RET);
	CHECK(go_code_pushes_bp(&code, 1));
	CHECK(!go_code_pushes_bp(&code, 0));
}

/* Before Go 1.21: mov 48(%rsp),%rdi; mov 8(%rdi),%rsi; sub 40(%rsp),%rsi; mov %rsi,%rsp */
TEST(the_way_back_from_c_is_read_from_the_code)
{
	struct go_code code = CODE(
		"\xff\xd0\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x28\x48\x89\xf4");
	struct unwind_rule rule = go_code_find_call(&code);

	CHECK_EQ(rule.kind, UNWIND_GO_CALL);
	CHECK_EQ(rule.cfa_off, 40);
}

TEST(any_bytes_are_safe)
{
	uint8_t bytes[64];
	size_t first, last;
	int32_t place;

	srand(3);
	for (int i = 0; i < 100000; i++) {
		struct go_code code = { bytes, (size_t)(rand() % 64) };

		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)(rand() % 3 ? rand() : 0x48 + rand() % 0x48);
		go_code_find_stack(&code, &code);
		go_code_find_call(&code);
		go_code_moves_stack(&code, &first, &last);
		CHECK(!go_code_saves_bp(&code, 0, code.size, &place, &first) || first <= code.size);
	}
}
