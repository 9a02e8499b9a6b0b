// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compiles unwind tables: FDEs are sorted by address (linkers leave them nearly so) and executed in
 * that order, and their rules appended, so that rows need not be sorted or revisited. Each CIE's
 * program is executed once, not once per FDE: a hostile file could make that quadratic.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "unwind/cfa_program.h"
#include "unwind/cfa_rule.h"
#include "unwind/cfi.h"

struct builder {
	struct cfi_table *table;
	struct eh_frame *eh;
	const struct cfa_start *starts; /* initial states, by CIE */
	struct cfa_program program;
	uint64_t covered_end; /* end of the previous FDE's code */
	bool keeps_extra;     /* rules also locate the extra register */
	bool needs_extra;     /* a CFA is computed from the extra register */
	int err;
};

static const struct unwind_rule gap = { .kind = UNWIND_GAP };

static void append_row(struct builder *b, uint64_t vaddr, const struct unwind_rule *rule)
{
	if (!b->err)
		b->err = cfi_append(b->table, vaddr, rule);
}

static bool takes_cfa_from_extra(const struct unwind_rule *rule, const struct cfa_machine *machine)
{
	return rule->kind == UNWIND_REG &&
	       unwind_reg(rule->cfa_off) == machine->numbers[CFA_REG_EXTRA];
}

/*
 * Returns true if the first range is the first instruction of code that a PLT jumps to: its unwind
 * information omits the pushed registers, and the return address is also still in x30.
 */
static bool begins_behind_plt(const struct cfa_range *first, const struct cfa_range *next)
{
	return next->is_behind_plt && !first->is_behind_plt && first->rule.kind == UNWIND_SP &&
	       !first->rule.cfa_off;
}

static void append_range(struct builder *b, struct cfa_range *range)
{
	b->needs_extra |= takes_cfa_from_extra(&range->rule, b->eh->machine);
	if (!b->keeps_extra)
		range->rule.extra_place = 0;
	append_row(b, range->start, &range->rule);
}

static void append_fde(struct builder *b, const struct eh_fde *fde)
{
	struct cfa_program *p = &b->program;
	struct cfa_range range, next;
	bool has_range;

	if (!cfi_reaches(b->table, fde->start, fde->end)) {
		b->table->n_bad_fdes++;
		return;
	}
	if (fde->start > b->covered_end)
		append_row(b, b->covered_end, &gap);
	cfa_program_begin(p, b->eh, fde, &b->starts[fde->cie]);
	has_range = cfa_program_next(p, &range);
	while (has_range) {
		has_range = cfa_program_next(p, &next);
		if (has_range && begins_behind_plt(&range, &next))
			range.rule.cfa_off = CFA_PLT_BYTES;
		append_range(b, &range);
		range = next;
	}
	b->covered_end = fde->end;
	b->table->n_fdes++;
	b->table->n_bad_fdes += p->code.failed;
}

static int append_fdes(struct builder *b)
{
	const struct addr_item *order = b->eh->fdes;
	size_t n = b->eh->n_fdes;

	for (size_t i = 0, next; i < n && !b->err; i = next) {
		struct eh_fde fde = eh_frame_fde(b->eh, i);

		for (next = i + 1; next < n && order[next].addr == fde.start;)
			next++;
		if (next < n && order[next].addr < fde.end)
			fde.end = order[next].addr;
		append_fde(b, &fde);
	}
	append_row(b, b->covered_end, &gap);
	return b->err;
}

static struct cfa_start *run_cies(const struct eh_frame *eh)
{
	struct cfa_start *starts = mem_zalloc(eh->n_cies, sizeof(*starts));

	for (size_t i = 0; i < eh->n_cies; i++)
		if (eh->cies[i].is_readable)
			cfa_program_start(&starts[i], eh, &eh->cies[i]);
	return starts;
}

static void begin_table(struct builder *b, bool keeps_extra)
{
	cfi_free(b->table);
	b->table->n_bad_fdes = b->eh->n_bad;
	b->err = 0;
	b->covered_end = 0;
	b->keeps_extra = keeps_extra;
	b->needs_extra = false;
}

/*
 * Executes all FDEs a second time, with rbx, for the few files that need it: the dynamic linker,
 * some assembly. On arm64 the extra register is the return address, which is always needed.
 */
static int build_rows(struct cfi_table *t, struct eh_frame *eh)
{
	struct cfa_start *starts = run_cies(eh);
	struct builder b;
	int err;

	b.table = t;
	b.eh = eh;
	b.starts = starts;
	begin_table(&b, eh->machine->needs_extra);
	err = append_fdes(&b);
	if (!err && b.needs_extra && !b.keeps_extra) {
		begin_table(&b, true);
		err = append_fdes(&b);
	}
	free(starts);
	cfi_trim(t);
	return err;
}

int cfi_load_elf(struct cfi_table *t, const struct elf64 *elf)
{
	struct eh_frame eh;
	int err;

	*t = (struct cfi_table){ .cells = NULL };
	err = eh_frame_read(&eh, elf);
	if (!err)
		err = build_rows(t, &eh);
	eh_frame_free(&eh);
	if (err)
		cfi_free(t);
	return err;
}

int cfi_load(struct cfi_table *t, int fd)
{
	struct elf64 elf;
	int err = elf64_open(&elf, fd);

	*t = (struct cfi_table){ .cells = NULL };
	return err ? err : cfi_load_elf(t, &elf);
}

int cfi_load_image(struct cfi_table *t, const void *image, size_t size)
{
	struct elf64 elf;
	int err = elf64_open_image(&elf, image, size);

	*t = (struct cfi_table){ .cells = NULL };
	return err ? err : cfi_load_elf(t, &elf);
}
