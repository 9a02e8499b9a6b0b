// SPDX-License-Identifier: GPL-2.0-only
/* Unwind rules derived from instructions: of stubs, of known functions, and of this program. */
#include "elf/elf64.h"
#include "elf/x86_rows.h"
#include "unwind/cfi.h"
#include "rule_text.h"

#define MAX_BYTES 64

struct rules {
	struct unwind_rule at[MAX_BYTES]; /* for each byte */
	size_t bytes;
};

static void take(size_t offset, const struct unwind_rule *rule, void *arg)
{
	struct rules *rules = arg;

	for (size_t i = offset; i < rules->bytes; i++)
		rules->at[i] = *rule;
}

/* "sp+8; 1 sp+16": each rule after the first byte for which it applies. */
static const char *rules_of(struct x86_code code)
{
	struct rules rules = { .bytes = code.bytes };

	x86_rows_derive(&code, take, &rules);
	return PRINTED(f, {
		for (size_t i = 0; i < code.bytes; i++) {
			if (i && !memcmp(&rules.at[i], &rules.at[i - 1], sizeof(*rules.at)))
				continue;
			if (i)
				fprintf(f, "; %zu ", i);
			print_rule(f, rules.at[i]);
		}
	});
}

#define CODE(text) .code = (const uint8_t *)(text), .bytes = sizeof(text) - 1
#define ENTRIES(...)                                  \
	.entries = (const uint32_t[]){ __VA_ARGS__ }, \
	.n_entries = sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

/* test %edi,%edi; jne 5; ret; 5: push %rax; call far away, which never returns; 11: the rest */
#define MAY_END "\x85\xff\x75\x01\xc3\x50\xe8\xf5\0\0\0"

static const struct {
	const char *name;
	struct x86_code code;
	const char *rules;
} cases[] = {
	{ "a frame is counted from rbp until it is left",
	  /* push %rbp; mov %rsp,%rbp; and $-16,%rsp; push %rbx; leave; ret */
	  { CODE("\x55\x48\x8b\xec\x48\x83\xe4\xf0\x53\xc9\xc3") },
	  "sp+8; 1 sp+16 bp@cfa-16; 4 bp+16 bp@cfa-16; 10 sp+8" },
	{ "the address of a local in rbp is no frame",
	  /*
	   * push %rbp; push %rbx; sub $24,%rsp; mov %rsp,%rbp; add $24,%rsp;
	   * pop %rbx; pop %rbp; ret
	   */
	  { CODE("\x55\x53\x48\x83\xec\x18\x48\x89\xe5\x48\x83\xc4\x18\x5b\x5d\xc3") },
	  "sp+8; 1 sp+16 bp@cfa-16; 2 sp+24 bp@cfa-16; 6 sp+48 bp@cfa-16; 13 sp+24 bp@cfa-16; "
	  "14 sp+16 bp@cfa-16; 15 sp+8" },
	{ "nor is the address of another saved register",
	  /* push %rbp; push %rbx; mov %rsp,%rbp; pop %rbx; pop %rbp; ret */
	  { CODE("\x55\x53\x48\x89\xe5\x5b\x5d\xc3") },
	  "sp+8; 1 sp+16 bp@cfa-16; 2 sp+24 bp@cfa-16; 6 sp+16 bp@cfa-16; 7 sp+8" },
	{ "a frame may be below other registers",
	  /* push %rbx; push %rbp; mov %rsp,%rbp; leave; pop %rbx; ret */
	  { CODE("\x53\x55\x48\x89\xe5\xc9\x5b\xc3") },
	  "sp+8; 1 sp+16; 2 sp+24 bp@cfa-24; 5 bp+24 bp@cfa-24; 6 sp+16; 7 sp+8" },
	{ "a frame pointer that is set again is unknown",
	  /* push %rbp; mov %rsp,%rbp; sub $16,%rsp; mov %rsp,%rbp; leave; ret */
	  { CODE("\x55\x48\x89\xe5\x48\x83\xec\x10\x48\x89\xe5\xc9\xc3") },
	  "sp+8; 1 sp+16 bp@cfa-16; 4 bp+16 bp@cfa-16; 11 -" },
	{ "the stack is followed along jumps",
	  /* sub $24,%rsp; je 11; 6: add $24,%rsp; ret; 11: push %rax; pop %rax; jmp 6 */
	  { CODE("\x48\x83\xec\x18\x74\x05\x48\x83\xc4\x18\xc3\x50\x58\xeb\xf7") },
	  "sp+8; 4 sp+32; 10 sp+8; 11 sp+32; 12 sp+40; 13 sp+32" },
	{ "a test of rsp, and a division, leave the stack as it is",
	  /* test $15,%esp; je 14: sub $8,%rsp; div %esp; add $8,%rsp; 14: ret */
	  { CODE("\xf7\xc4\x0f\0\0\0\x74\x0a\x48\x83\xec\x08\xf7\xf4\x48\x83\xc4\x08\xc3") },
	  "sp+8; 12 sp+16; 18 sp+8" },
	{ "a negated stack pointer is unknown",
	  { CODE("\xf7\xdc\x90\xc3") }, /* neg %esp; nop; ret */
	  "sp+8; 2 -" },
	{ "a return with something on the stack contradicts all code of its entry",
	  { CODE("\x53\x50\x58\xc3") }, /* push %rbx; push %rax; pop %rax; ret */
	  "-" },
	/* as stubs for exceptions do, which another stub with a frame jumps to */
	{ "a return address may be taken from the stack",
	  /* mov 8(%rbp),%rdx; leave; pop %rcx; jmp *%rcx */
	  { CODE("\x48\x8b\x55\x08\xc9\x59\xff\xe1"), .begins_framed = true },
	  "bp+16 bp@cfa-16; 5 sp+8; 6 -" },
	/* a second entry that jumps into the first one's code with another stack is wrong */
	{ "a guess does not change what is known",
	  /* push %rbp; mov %rsp,%rbp; 4: leave; ret; push %rax; jmp 4 */
	  { CODE("\x55\x48\x8b\xec\xc9\xc3\x50\xeb\xfb"), .has_several = true },
	  "sp+8; 1 sp+16 bp@cfa-16; 4 bp+16 bp@cfa-16; 5 sp+8; 6 -" },
	/* found by the sanitizer for undefined behavior: sums of offsets exceed an int */
	{ "a stack of gigabytes is unknown",
	  /* sub $0x7fffffff,%rsp; nop; ret; lea -0x80000000(%rsp),%rsp; nop; ret */
	  { CODE("\x48\x81\xec\xff\xff\xff\x7f\x90\xc3\x48\x8d\xa4\x24\0\0\0\x80\x90\xc3"),
	    .has_several = true },
	  "sp+8; 7 -; 9 sp+8; 17 -" },
	{ "code that nothing reaches has no rule",
	  { CODE("\xc3\xf4\xf4\x06\x06"), .has_several = true }, /* ret; hlt; no code */
	  "sp+8; 1 -" },
	/* registers that were stored all at once come back by loads: rbp is the same then */
	{ "a frame outlives the restore of all registers",
	  /*
	   * push $-1; push %rbp; mov %rsp,%rbp; mov %rbp,0x50(%rsp) and back; leave;
	   * add $8,%rsp; ret
	   */
	  { CODE("\x68\xff\xff\xff\xff\x55\x48\x8b\xec\x48\x89\x6c\x24\x50"
		 "\x48\x8b\x6c\x24\x50\xc9\x48\x83\xc4\x08\xc3"),
	    .has_several = true },
	  "sp+8; 5 sp+16; 6 sp+24 bp@cfa-24; 9 bp+24 bp@cfa-24; 20 sp+16; 24 sp+8" },
	{ "a function is followed into those that it calls",
	  /*
	   * push %rbx; call 10; pop %rbx; ret; padding; 10: push %rax; pop %rax; ret;
	   * and the same again, which nobody is known to call
	   */
	  { CODE("\x53\xe8\x04\0\0\0\x5b\xc3\x90\x90\x50\x58\xc3\x50\x58\xc3"), ENTRIES(0) },
	  "sp+8; 1 sp+16; 7 sp+8; 8 -; 10 sp+8; 11 sp+16; 12 sp+8; 13 -" },
	{ "the stack of a function does not reach into the next one",
	  { CODE(MAY_END "\x53\x5b\xc3"), ENTRIES(0, 11) }, /* push %rbx; pop %rbx; ret */
	  "sp+8; 5 -; 11 sp+8; 12 sp+16; 13 sp+8" },
	{ "nor does a frame, if the next function is not known",
	  /*
	   * push %rbp; mov %rsp,%rbp; test %edi,%edi; jne 10; leave; ret; 10: call far away, which
	   * never returns; push %rbp; mov %rsp,%rbp; leave; ret
	   */
	  { CODE("\x55\x48\x89\xe5\x85\xff\x75\x02\xc9\xc3\xe8\xf5\0\0\0\x55\x48\x89\xe5\xc9\xc3"),
	    ENTRIES(0) },
	  "sp+8; 1 sp+16 bp@cfa-16; 4 bp+16 bp@cfa-16; 9 sp+8; 10 -" },
	{ "nor if that one saves rbp without a frame",
	  /* as before, but then: push %rbp; push %rbx; pop %rbx; pop %rbp; ret */
	  { CODE("\x55\x48\x89\xe5\x85\xff\x75\x02\xc9\xc3\xe8\xf5\0\0\0\x55\x53\x5b\x5d\xc3"),
	    ENTRIES(0) },
	  "sp+8; 1 sp+16 bp@cfa-16; 4 bp+16 bp@cfa-16; 9 sp+8; 10 -" },
	{ "nothing fits if the next function is not known",
	  { CODE(MAY_END "\x53\x5b\xc3"), ENTRIES(0) },
	  "-" },
	/* it may belong to the function before it, or to another one */
	{ "code that leads to no return is unknown",
	  { CODE(MAY_END "\x50\xe8\xf0\0\0\0\xf4"), ENTRIES(0) }, /* push %rax; call; hlt */
	  "sp+8; 5 -" },
	/* a jump without a stack makes its target an entry */
	{ "code before a loop is proved by it",
	  /* xor %eax,%eax; 2: dec %edi; je 8; jmp 2; 8: ret */
	  { CODE("\x31\xc0\xff\xcf\x74\x02\xeb\xfa\xc3"), ENTRIES(0) },
	  "sp+8" },
	{ "so is code that empties the stack before a loop",
	  /* push %rbx; call far away; pop %rbx; 7: dec %edi; jmp 7 */
	  { CODE("\x53\xe8\xf5\0\0\0\x5b\xff\xcf\xeb\xfc"), ENTRIES(0) },
	  "sp+8; 1 sp+16; 7 sp+8" },
	{ "a conditional jump is proved by an entry, a call before it is not",
	  /* test %edi,%edi; jne 9; call far away; 9: dec %edi; jmp 9 */
	  { CODE("\x85\xff\x75\x05\xe8\xf5\0\0\0\xff\xcf\xeb\xfc"), ENTRIES(0) },
	  "sp+8; 4 -; 9 sp+8" },
	{ "neither is a call by pointer",
	  /* test %edi,%edi; jne 6; call *%rax; 6: dec %edi; jmp 6 */
	  { CODE("\x85\xff\x75\x02\xff\xd0\xff\xcf\xeb\xfc"), ENTRIES(0) },
	  "sp+8; 4 -; 6 sp+8" },
	{ "nor other code with something on the stack, before the next function",
	  /* test %edi,%edi; jne 5; ret; 5: push %rax; call far away; nop; 12: ret */
	  { CODE(MAY_END "\x90\xc3"), ENTRIES(0, 12) },
	  "sp+8; 5 -; 12 sp+8" },
	/* xmm4 and xmm5 have the numbers of rsp and rbp */
	{ "SSE instructions leave general registers alone",
	  /* sub $24,%rsp; pshufb %xmm5,%xmm4; pinsrd $1,%eax,%xmm4; add $24,%rsp; ret */
	  { CODE("\x48\x83\xec\x18\x66\x0f\x38\x00\xe5\x66\x0f\x3a\x22\xe0\x01"
		 "\x48\x83\xc4\x18\xc3") },
	  "sp+8; 4 sp+32; 19 sp+8" },
	{ "but not those that extract from SSE registers",
	  { CODE("\x66\x0f\x3a\x16\xc5\x01\xc3") }, /* pextrd $1,%xmm0,%ebp; ret */
	  "sp+8; 6 -" },
	{ "nor other instructions with such opcodes",
	  { CODE("\x0f\x38\xf0\x2f\xc3") }, /* movbe (%rdi),%ebp; ret */
	  "sp+8; 4 -" },
	{ "a signal trampoline is no function",
	  { CODE("\xb8\x0f\0\0\0\x0f\x05\xc3"), ENTRIES(0) },
	  "-" },
	{ "nor is one with a wide register",
	  { CODE("\x48\xc7\xc0\x0f\0\0\0\x0f\x05\xc3"), ENTRIES(0) },
	  "-" },
	/* what is after a jump by a table may be one of its targets */
	{ "code that only a computed jump reaches is unknown",
	  { CODE("\x50\xff\xe2\x58\xc3"), ENTRIES(0) }, /* push %rax; jmp *%rdx; pop %rax; ret */
	  "-" },
};

TEST(code_has_the_rules_that_follow_from_it)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_CASE_STR(cases[i].name, rules_of(cases[i].code), cases[i].rules);
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
