// SPDX-License-Identifier: GPL-2.0-only
/* Rules for well-known code without unwind information; see cfi_gaps.h. */
#include <stdlib.h>
#include <string.h>

#include "cfi_gaps.h"
#include "elf64.h"
#include "mem.h"

#define ENTRY_MAX_BYTES	  64  /* _start, and _dl_start_user, to which it falls through */
#define SECTION_MAX_BYTES 256 /* _init grows by a call for each object that adds one */
#define CLONE_MAX_BYTES	  32

struct code {
	const uint8_t *bytes;
	size_t left;
};

/* Skips one instruction: its first bytes, then others that may be anything. */
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

/* It has no caller. */
static void fill_entry(struct cfi_table *t, const struct elf64 *elf)
{
	struct cfi_row row = { elf->header.e_entry, { .kind = UNWIND_END } };

	if (row.vaddr)
		cfi_fill_gap(t, &row, 1, cfi_gap_end(t, row.vaddr, ENTRY_MAX_BYTES));
}

/* ---- _init and _fini ---- */

/* What may stand between the moves of the stack pointer: neither touches it nor goes elsewhere. */
static bool skip_body(struct code *code)
{
	while (SKIP(code, "\x48\x8b\x05", 4) || /* mov addr(%rip),%rax */
	       SKIP(code, "\x48\x85\xc0", 0) || /* test %rax,%rax */
	       SKIP(code, "\x74\x02", 0) ||	/* je behind the next one */
	       SKIP(code, "\xff\xd0", 0) ||	/* call *%rax */
	       SKIP(code, "\xff\x15", 4) ||	/* call *addr(%rip) */
	       SKIP(code, "\xe8", 4))		/* call addr */
		;
	return SKIP(code, "\x48\x83\xc4\x08", 0); /* add $8,%rsp */
}

static void fill_function(struct cfi_table *t, uint64_t vaddr, struct code code)
{
	const struct unwind_rule outside = { .kind = UNWIND_SP, .cfa_off = 8 };
	const struct unwind_rule inside = { .kind = UNWIND_SP, .cfa_off = 16 };
	struct cfi_row rows[] = { { vaddr, outside }, { 0, inside }, { 0, outside } };
	const uint8_t *start = code.bytes;

	SKIP(&code, "\xf3\x0f\x1e\xfa", 0);	 /* endbr64 */
	if (!SKIP(&code, "\x48\x83\xec\x08", 0)) /* sub $8,%rsp */
		return;
	rows[1].vaddr = vaddr + (size_t)(code.bytes - start);
	if (!skip_body(&code))
		return;
	rows[2].vaddr = vaddr + (size_t)(code.bytes - start);
	if (SKIP(&code, "\xc3", 0)) /* ret */
		cfi_fill_gap(t, rows, ARRAY_SIZE(rows), vaddr + (size_t)(code.bytes - start));
}

static void fill_section(struct cfi_table *t, const struct elf64 *elf, const char *name)
{
	Elf64_Shdr section;
	uint8_t *bytes;

	if (elf64_find_section(elf, name, &section))
		return;
	bytes = elf64_read(elf, section.sh_offset, section.sh_size, SECTION_MAX_BYTES);
	if (!bytes)
		return;
	fill_function(t, section.sh_addr, (struct code){ bytes, section.sh_size });
	free(bytes);
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

static void fill_clone(struct cfi_table *t, const struct elf64 *elf, uint64_t vaddr, uint64_t end)
{
	struct cfi_row rows[] = { { vaddr, { .kind = UNWIND_SP, .cfa_off = 8 } },
				  { vaddr + 2, { .kind = UNWIND_CLONE } } };
	Elf64_Phdr load;
	uint8_t *bytes;

	if (elf64_find_load(elf, vaddr, &load))
		return;
	bytes = elf64_read(elf, load.p_offset + (vaddr - load.p_vaddr), end - vaddr,
			   CLONE_MAX_BYTES);
	if (bytes && is_clone((struct code){ bytes, end - vaddr }))
		cfi_fill_gap(t, rows, ARRAY_SIZE(rows), end);
	free(bytes);
}

/* The gap is followed by the child's part, which is described as having no caller: a rare thing. */
static void fill_clones(struct cfi_table *t, const struct elf64 *elf)
{
	for (size_t i = 1; i < t->count; i++) {
		const struct cfi_row *row = &t->rows[i - 1], *next = &t->rows[i];

		if (row->rule.kind == UNWIND_GAP && next->rule.kind == UNWIND_END &&
		    next->vaddr - row->vaddr <= CLONE_MAX_BYTES)
			fill_clone(t, elf, row->vaddr, next->vaddr);
	}
}

void cfi_fill_known_gaps(struct cfi_table *t, int fd)
{
	struct elf64 elf;

	if (!t->count || elf64_open(&elf, fd))
		return;
	fill_entry(t, &elf);
	fill_section(t, &elf, ".init");
	fill_section(t, &elf, ".fini");
	fill_clones(t, &elf);
}
