// SPDX-License-Identifier: GPL-2.0-only
/* Unwind rules derived from the instructions of functions that are known to begin somewhere. */
#include "elf/elf64.h"
#include "elf/x86_rows.h"
#include "unwind/cfi.h"
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

/* ---- compared with the compiler's tables ---- */

struct comparison {
	struct cfi_table table;
	uint64_t vaddr;
	size_t n_equal, n_different;
};

/* Rules by rsp; where rbp points to the frame, either may be used. */
static void compare(size_t offset, const struct unwind_rule *rule, void *arg)
{
	struct comparison *comparison = arg;
	struct unwind_rule known = cfi_find(&comparison->table, comparison->vaddr + offset);

	if (rule->kind != UNWIND_SP || known.kind != UNWIND_SP)
		return;
	if (rule->cfa_off == known.cfa_off)
		comparison->n_equal++;
	else
		comparison->n_different++;
}

static uint32_t *find_functions(const struct elf64 *elf, const Elf64_Phdr *code, size_t *n)
{
	Elf64_Shdr section;
	Elf64_Sym *symbols;
	uint32_t *functions;

	*n = 0;
	if (elf64_find_section(elf, ".symtab", &section))
		return NULL;
	symbols = elf64_read(elf, section.sh_offset, section.sh_size, section.sh_size);
	functions = until_end(mem_zalloc(section.sh_size / sizeof(*symbols), sizeof(*functions)));
	for (size_t i = 0; symbols && i < section.sh_size / sizeof(*symbols); i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
		    symbols[i].st_value - code->p_vaddr < code->p_filesz)
			functions[(*n)++] = (uint32_t)(symbols[i].st_value - code->p_vaddr);
	free(symbols);
	return functions;
}

/* The program whose tables are compared is this very one. */
TEST(rules_are_those_of_the_compiler)
{
	struct comparison comparison = {};
	Elf64_Phdr code = {};
	struct x86_code in;
	struct elf64 elf;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK_EQ(elf64_open(&elf, fd), 0);
	if (elf.header.e_machine != EM_X86_64)
		SKIP("about x86-64");
	CHECK_EQ(cfi_load(&comparison.table, &elf), 0);
	CHECK_EQ(elf64_find_load(&elf, elf.header.e_entry, &code), 0);
	in = (struct x86_code){ .bytes = code.p_filesz };
	in.code = until_end(elf64_read_vaddr(&elf, code.p_vaddr, in.bytes, in.bytes));
	in.entries = find_functions(&elf, &code, &in.n_entries);
	close(fd);
	if (!in.n_entries)
		SKIP("this program has no symbols");
	comparison.vaddr = code.p_vaddr;
	x86_rows_derive(&in, compare, &comparison);
	CHECK(comparison.n_equal > 100);
	CHECK_EQ(comparison.n_different, 0);
	cfi_free(&comparison.table);
}
