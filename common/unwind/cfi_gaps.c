// SPDX-License-Identifier: GPL-2.0-only
/* Rules for well-known code without unwind information; see cfi_gaps.h. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "elf/elf64.h"
#include "elf/elfexports.h"
#include "elf/x86_rows.h"
#include "unwind/cfi_gaps.h"
#include "unwind/code_rows.h"
#include "unwind/musl_code.h"

#define ENTRY_MAX_BYTES 64 /* _start, and _dl_start_user, which follows it */
#define CODE_MIN_BYTES	64 /* smaller gaps are padding between functions */
#define CODE_MAX_BYTES	512
#define CODE_ALIGNMENT	16
#define CODE_MAX_GAPS	16
#define CLONE_MAX_BYTES 32
#define MAX_CLONES	64

struct code {
	const uint8_t *bytes;
	size_t left;
};

/* Skips an instruction, given by its first bytes and the number of arbitrary bytes after them. */
static bool skip(struct code *code, const char *begin, size_t n_begin, size_t n_any)
{
	if (code->left < n_begin + n_any || memcmp(code->bytes, begin, n_begin))
		return false;
	code->bytes += n_begin + n_any;
	code->left -= n_begin + n_any;
	return true;
}

#define SKIP(code, begin, n_any) skip(code, begin, sizeof(begin) - 1, n_any)

/* ---- the entry point ---- */

/* Marks the entry point, which has no caller. */
static void fill_entry(struct cfi_table *t, const struct elf64 *elf)
{
	struct cfi_row row = { elf->header.e_entry, { .kind = UNWIND_END } };

	if (row.vaddr)
		cfi_fill_gap(t, &row, 1, cfi_gap_end(t, row.vaddr, ENTRY_MAX_BYTES));
}

/* ---- the compiler's and the C library's start files ---- */

/* Rows derived from code at vaddr. */
struct derived {
	struct cfi_table table;
	uint64_t vaddr, end;
};

static void append(size_t offset, const struct unwind_rule *rule, void *arg)
{
	struct derived *derived = arg;

	cfi_append(&derived->table, derived->vaddr + offset, rule);
}

static struct derived derive(const struct x86_code *code, uint64_t vaddr)
{
	struct derived derived = { .vaddr = vaddr, .end = vaddr + code->bytes };

	x86_rows_derive(code, append, &derived);
	return derived;
}

/* Fills what is still a gap, up to end. */
static void fill_piece(struct cfi_table *t, const struct cfi_table *from, uint64_t at, uint64_t end)
{
	struct cfi_row *rows = mem_zalloc(from->count + 1, sizeof(*rows));
	size_t n = 0;

	rows[n++] = (struct cfi_row){ at, cfi_find(from, at) };
	for (size_t i = 0; i < from->count; i++)
		if (cfi_vaddr(from, i) > at && cfi_vaddr(from, i) < end)
			rows[n++] = cfi_row(from, i);
	if (n > 1 || rows[0].rule.kind != UNWIND_GAP)
		cfi_fill_gap(t, rows, n, end);
	free(rows);
}

static void fill_derived(struct cfi_table *t, struct derived *derived)
{
	for (uint64_t at = derived->vaddr, end; at < derived->end; at = end) {
		end = cfi_gap_end(t, at, derived->end - at);
		if (cfi_find(t, at).kind == UNWIND_GAP)
			fill_piece(t, &derived->table, at, end);
	}
	cfi_free(&derived->table);
}

/* Skips alignment, and zeros between sections. */
static size_t skip_padding(uint64_t vaddr, const uint8_t *code, size_t bytes)
{
	size_t at = -vaddr & (CODE_ALIGNMENT - 1);

	while (at < bytes && !code[at])
		at += CODE_ALIGNMENT;
	return at < bytes ? at : bytes;
}

static void fill_code(struct cfi_table *t, const struct elf64 *elf, uint64_t vaddr, uint64_t bytes,
		      bool is_padded)
{
	uint8_t *code = elf64_read_vaddr(elf, vaddr, bytes, CODE_MAX_BYTES);
	size_t at = code && is_padded ? skip_padding(vaddr, code, bytes) : 0;
	struct derived derived;

	if (code) {
		derived = derive(&(struct x86_code){ code + at, bytes - at, .has_several = true },
				 vaddr + at);
		fill_derived(t, &derived);
	}
	free(code);
}

/*
 * Fills _init or _fini, which the linker concatenates from pieces of many files, without unwind
 * information.
 */
static void fill_section(struct cfi_table *t, const struct elf64 *elf, const char *name)
{
	Elf64_Shdr section;

	if (!elf64_find_section(elf, name, &section))
		fill_code(t, elf, section.sh_addr, section.sh_size, false);
}

/* Fills the first larger gaps: the code of the compiler's start files is among them. */
static void fill_first_gaps(struct cfi_table *t, const struct elf64 *elf)
{
	struct cfi_gap gap = { .end = 0 };

	for (size_t n = 0; n < CODE_MAX_GAPS && cfi_next_gap(t, elf, CODE_MIN_BYTES, &gap);) {
		uint64_t bytes = gap.end - gap.vaddr;

		if (bytes <= CODE_MAX_BYTES) {
			fill_code(t, elf, gap.vaddr, bytes, true);
			gap.end = cfi_gap_end(t, gap.vaddr, bytes); /* the rest is the next one */
			n++;
		}
	}
}

/* ---- clone ---- */

static bool is_clone(struct code code)
{
	return SKIP(&code, "\x0f\x05", 0) &&				 /* syscall */
	       SKIP(&code, "\x48\x85\xc0", 0) &&			 /* test %rax,%rax */
	       (SKIP(&code, "\x7c", 1) || SKIP(&code, "\x0f\x8c", 4)) && /* jl error */
	       (SKIP(&code, "\x74", 1) || SKIP(&code, "\x0f\x84", 4)) && /* je child */
	       SKIP(&code, "\xc3", 0);					 /* ret */
}

static bool fill_clone(struct cfi_table *t, const struct elf64 *elf, uint64_t vaddr, uint64_t end)
{
	struct cfi_row rows[] = { { vaddr, { .kind = UNWIND_SP, .cfa_off = 8 } },
				  { vaddr + 2, { .kind = UNWIND_CLONE } } };
	uint8_t *bytes = elf64_read_vaddr(elf, vaddr, end - vaddr, CLONE_MAX_BYTES);
	bool is_one = bytes && is_clone((struct code){ bytes, end - vaddr });

	if (is_one)
		cfi_fill_gap(t, rows, ARRAY_SIZE(rows), end);
	free(bytes);
	return is_one;
}

/*
 * Fills gaps that are followed by an UNWIND_END row: after clone's system call comes the child's
 * code, described as having no caller. Each insertion moves the remaining rows, so their number is
 * limited.
 */
static void fill_clones(struct cfi_table *t, const struct elf64 *elf)
{
	int n = 0;

	for (size_t i = 1; t->n_ends && i < t->count && n < MAX_CLONES; i++) {
		struct cfi_row row = cfi_row(t, i - 1), next = cfi_row(t, i);

		if (row.rule.kind == UNWIND_GAP && next.rule.kind == UNWIND_END &&
		    next.vaddr - row.vaddr <= CLONE_MAX_BYTES)
			n += fill_clone(t, elf, row.vaddr, next.vaddr);
	}
}

/* ---- contexts ---- */

#define CONTEXT_BYTES	  16
#define CONTEXT_MAX_BYTES (2U << 20) /* limit of a file's code */

/* Returns true for a file that exports makecontext(3), and for a static program: without loader. */
static bool may_have_context(const struct elf64 *elf)
{
	Elf64_Phdr interpreter;
	Elf64_Sym symbol;

	return !elfexports_find_symbol(elf, "makecontext", &symbol) ||
	       (elf->header.e_entry && elf64_find_segment(elf, PT_INTERP, &interpreter));
}

/*
 * Matches "mov %rbx,%rsp", then "mov (%rsp),%rdi" or a test for a shadow stack. On arm64 "mov x0,
 * x19; cbnz x0, setcontext; b exit".
 */
static bool is_context(const uint8_t *code, bool is_arm64)
{
	if (is_arm64)
		return !memcmp(code, "\xe0\x03\x13\xaa", 4) && code[7] == 0xb5 &&
		       code[11] >> 2 == 5;
	return !memcmp(code, "\x48\x89\xdc\x48\x8b\x3c\x24", 7) ||
	       !memcmp(code, "\x48\x89\xdc\x64\xf7\x04\x25", 7);
}

/*
 * Fills the gap before glibc's __start_context, where the return address of a function of
 * makecontext(3) is looked up: it has no caller. Its code may come after an instruction of four
 * bytes for targets of jumps.
 */
static void fill_context(struct cfi_table *t, const struct elf64 *elf)
{
	bool is_arm64 = elf->header.e_machine == EM_AARCH64;
	uint8_t *code = NULL;
	Elf64_Shdr text;

	if (may_have_context(elf) && !elf64_find_section(elf, ".text", &text))
		code = elf64_read_vaddr(elf, text.sh_addr, text.sh_size, CONTEXT_MAX_BYTES);
	for (size_t i = 1; code && i < t->count; i++) {
		uint64_t vaddr = cfi_vaddr(t, i), at = vaddr - text.sh_addr;
		struct cfi_row row = { vaddr - 1, { .kind = UNWIND_END } };

		if (at < text.sh_size && text.sh_size - at >= CONTEXT_BYTES &&
		    (is_context(code + at, is_arm64) || is_context(code + at + 4, is_arm64)) &&
		    cfi_fill_gap(t, &row, 1, vaddr))
			break;
	}
	free(code);
}

/* ---- other code: assembly, and libraries built without unwind information ---- */

#define GAP_MIN_BYTES	16
#define GAPS_MAX_BYTES	(512U << 10) /* of all gaps; musl has 400 KB */
#define FIRST_MAX_BYTES 4096
#define GAPS_MAX	512
#define SYMBOLS_MAX	(1U << 18)

struct gaps {
	const struct elf64 *elf;
	const struct cfi_table *table;
	bool are_whole;	     /* they are most of the code, which is followed at once */
	uint64_t *functions; /* by symbols */
	size_t n_functions, functions_cap;
	bool are_functions_read;
	struct derived *items;
	size_t n, cap;
	uint64_t bytes; /* of all items */
};

static bool is_in_gaps(const struct gaps *gaps, uint64_t vaddr)
{
	return gaps->are_whole || cfi_find(gaps->table, vaddr).kind == UNWIND_GAP;
}

static void read_symbols(struct gaps *gaps, const char *name)
{
	Elf64_Shdr section;
	Elf64_Sym *symbols = NULL;

	if (!elf64_find_section(gaps->elf, name, &section))
		symbols = elf64_read(gaps->elf, section.sh_offset, section.sh_size,
				     SYMBOLS_MAX * sizeof(*symbols));
	for (size_t i = 0; symbols && i < section.sh_size / sizeof(*symbols); i++)
		if (symbols[i].st_value && ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
		    is_in_gaps(gaps, symbols[i].st_value))
			*MEM_APPEND(gaps->functions, gaps->n_functions, gaps->functions_cap) =
				symbols[i].st_value;
	free(symbols);
}

static void read_functions(struct gaps *gaps)
{
	gaps->are_functions_read = true;
	read_symbols(gaps, ".dynsym");
	if (!gaps->n_functions) /* a program exports none */
		read_symbols(gaps, ".symtab");
}

/*
 * Finds the functions that begin in the code: by symbols, and the one after the padding, but large
 * gaps begin with data, or with code of a virtual machine. Returns offsets, to be freed.
 */
static uint32_t *find_entries(struct gaps *gaps, uint64_t vaddr, size_t padding,
			      struct x86_code *code)
{
	uint32_t *entries;
	size_t n = 0;

	if (!gaps->are_functions_read)
		read_functions(gaps);
	entries = mem_zalloc(gaps->n_functions + 1, sizeof(*entries));
	code->first_is_guess = code->bytes <= FIRST_MAX_BYTES;
	if (code->first_is_guess)
		entries[n++] = (uint32_t)padding;
	for (size_t i = 0; i < gaps->n_functions; i++)
		if (gaps->functions[i] - vaddr < code->bytes)
			entries[n++] = (uint32_t)(gaps->functions[i] - vaddr);
	code->entries = entries;
	code->n_entries = n;
	return entries;
}

static void derive_gap(struct gaps *gaps, uint64_t vaddr, uint64_t bytes)
{
	struct x86_code in = { .bytes = bytes };
	uint32_t *entries = NULL;
	uint8_t *code;
	size_t padding;

	if (gaps->bytes + bytes > GAPS_MAX_BYTES || gaps->n == GAPS_MAX)
		return;
	code = elf64_read_vaddr(gaps->elf, vaddr, bytes, bytes);
	if (!code)
		return;
	in.code = code;
	padding = x86_padding(code, bytes);
	if (padding < bytes)
		entries = find_entries(gaps, vaddr, padding, &in);
	if (in.n_entries) {
		gaps->bytes += bytes;
		*MEM_APPEND(gaps->items, gaps->n, gaps->cap) = derive(&in, vaddr);
	}
	free(entries);
	free(code);
}

/*
 * Follows the code of each gap, or, if they are most of the code, all of it at once: functions are
 * found by calls.
 */
static void derive_gaps(struct gaps *gaps)
{
	uint64_t first = 0, last = 0, bytes = 0;
	struct cfi_gap gap = { .end = 0 };

	while (cfi_next_gap(gaps->table, gaps->elf, GAP_MIN_BYTES, &gap)) {
		first = first ? first : gap.vaddr;
		last = gap.end;
		bytes += gap.end - gap.vaddr;
	}
	gaps->are_whole = bytes > (last - first) / 2;
	if (gaps->are_whole)
		derive_gap(gaps, first, last - first);
	gap.end = 0;
	while (!gaps->are_whole && cfi_next_gap(gaps->table, gaps->elf, GAP_MIN_BYTES, &gap))
		derive_gap(gaps, gap.vaddr, gap.end - gap.vaddr);
}

/*
 * What is known of start files, clone() and musl says more than their instructions: these rows come
 * first. But functions are followed before that, while their code is whole.
 */
static void fill_x86(struct cfi_table *t, const struct elf64 *elf)
{
	struct gaps gaps = { .elf = elf, .table = t };

	derive_gaps(&gaps);
	fill_entry(t, elf);
	fill_section(t, elf, ".init");
	fill_section(t, elf, ".fini");
	fill_first_gaps(t, elf);
	fill_clones(t, elf);
	fill_context(t, elf);
	musl_fill_gaps(t, elf);
	for (size_t i = 0; i < gaps.n; i++)
		fill_derived(t, &gaps.items[i]);
	free(gaps.functions);
	free(gaps.items);
}

/* ---- arm64 ---- */

#define PLT_FIRST_BYTES 32	    /* size of the first PLT entry, the target of the other ones */
#define STP_X16_X30	0xa9bf7bf0U /* stp x16, x30, [sp, #-16]! */

/*
 * Fills the PLT (AAELF64, 9.6.3). Only the first entry uses the stack, after "bti c", if present;
 * static programs have no such entry.
 */
static void fill_plt(struct cfi_table *t, const struct elf64 *elf)
{
	struct cfi_row rows[3] = { { .rule = { .kind = UNWIND_SP,
					       .extra_place = UNWIND_RA_IN_LINK } } };
	uint32_t *code;
	Elf64_Shdr plt;
	size_t n = 1;

	if (elf64_find_section(elf, ".plt", &plt) || plt.sh_size < PLT_FIRST_BYTES)
		return;
	code = elf64_read(elf, plt.sh_offset, 2 * sizeof(*code), 2 * sizeof(*code));
	if (!code)
		return;
	rows[0].vaddr = plt.sh_addr;
	if (code[0] == STP_X16_X30 || code[1] == STP_X16_X30) {
		rows[n] = rows[0];
		rows[n].vaddr += code[0] == STP_X16_X30 ? 4 : 8;
		rows[n].rule.cfa_off = 16;
		rows[n++].rule.extra_place = 1;
		rows[n] = rows[0];
		rows[n++].vaddr += PLT_FIRST_BYTES;
	}
	cfi_fill_gap(t, rows, n, plt.sh_addr + plt.sh_size);
	free(code);
}

void cfi_fill_known_gaps(struct cfi_table *t, const struct elf64 *elf)
{
	if (!t->count)
		return;
	if (elf->header.e_machine != EM_AARCH64) {
		fill_x86(t, elf);
		return;
	}
	fill_entry(t, elf);
	fill_plt(t, elf);
	fill_context(t, elf);
	musl_fill_gaps(t, elf);
	code_rows_fill_gaps(t, elf);
}
