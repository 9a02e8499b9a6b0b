// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind tables: FDEs are sorted by address (linkers leave them nearly so), executed in that order,
 * and their rules written down one after the other, so that rows never need to be sorted or looked
 * at again. Each CIE's program is executed once, not once per FDE: a hostile file could make
 * that quadratic.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addrsort.h"
#include "base/mem.h"
#include "base/search.h"
#include "unwind/cfa_program.h"
#include "unwind/cfa_machine.h"
#include "unwind/cfi.h"

#define ROWS_MAX (16u << 20)

struct builder {
	struct cfi_table *table;
	size_t rows_cap;
	const struct eh_frame *eh;
	const struct cfa_start *starts; /* by CIE */
	struct cfa_program program;
	uint64_t covered_end; /* of the FDE before this one */
	bool keeps_extra;     /* where the extra register is, too */
	bool needs_extra;     /* a CFA is taken from it */
};

static const struct unwind_rule gap = { .kind = UNWIND_GAP };

static bool is_same_rule(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static void append_row(struct builder *b, uint64_t vaddr, const struct unwind_rule *rule)
{
	struct cfi_table *t = b->table;

	if (is_same_rule(t->count ? &t->rows[t->count - 1].rule : &gap, rule))
		return;
	t->n_ends += rule->kind == UNWIND_END;
	t->rows = mem_grow(t->rows, t->count, &b->rows_cap, sizeof(*t->rows));
	t->rows[t->count++] = (struct cfi_row){ .vaddr = vaddr, .rule = *rule };
}

static bool takes_cfa_from_extra(const struct unwind_rule *rule, const struct cfa_machine *machine)
{
	return rule->kind == UNWIND_REG &&
	       unwind_reg(rule->cfa_off) == machine->numbers[CFA_REG_EXTRA];
}

/* Its first instruction, before anything is said: the return address is in its register, too. */
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

/* A row takes at least two bytes of program, so one FDE too many cannot go far over the limit. */
static int append_fdes(struct builder *b, const struct addr_item *order, size_t n)
{
	for (size_t i = 0, next; i < n; i = next) {
		struct eh_fde fde = b->eh->fdes[order[i].value];

		for (next = i + 1; next < n && order[next].addr == fde.start;)
			next++;
		if (next < n && order[next].addr < fde.end)
			fde.end = order[next].addr;
		append_fde(b, &fde);
		if (b->table->count > ROWS_MAX)
			return -EFBIG;
	}
	append_row(b, b->covered_end, &gap);
	return 0;
}

static struct addr_item *sort_fdes(const struct eh_frame *eh)
{
	struct addr_item *order = mem_realloc(NULL, eh->n_fdes, sizeof(*order));

	for (size_t i = 0; i < eh->n_fdes; i++)
		order[i] = (struct addr_item){ .addr = eh->fdes[i].start, .value = i };
	addrsort(order, eh->n_fdes);
	return order;
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
	b->rows_cap = 0;
	b->covered_end = 0;
	b->keeps_extra = keeps_extra;
	b->needs_extra = false;
}

/*
 * Once more with rbx for the few files where it matters: the dynamic linker, some assembly. On
 * arm64 the extra register is the return address.
 */
static int build_rows(struct cfi_table *t, const struct eh_frame *eh)
{
	struct cfa_start *starts = run_cies(eh);
	struct addr_item *order = sort_fdes(eh);
	struct builder b;
	int err;

	b.table = t;
	b.eh = eh;
	b.starts = starts;
	begin_table(&b, eh->machine->needs_extra);
	err = append_fdes(&b, order, eh->n_fdes);
	if (!err && b.needs_extra && !b.keeps_extra) {
		begin_table(&b, true);
		err = append_fdes(&b, order, eh->n_fdes);
	}
	free(order);
	free(starts);
	t->rows = mem_realloc(t->rows, t->count, sizeof(*t->rows));
	return err;
}

int cfi_load_elf(struct cfi_table *t, const struct elf64 *elf)
{
	struct eh_frame eh;
	int err;

	*t = (struct cfi_table){ .rows = NULL };
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

	*t = (struct cfi_table){ .rows = NULL };
	return err ? err : cfi_load_elf(t, &elf);
}

int cfi_load_image(struct cfi_table *t, const void *image, size_t size)
{
	struct elf64 elf;
	int err = elf64_open_image(&elf, image, size);

	*t = (struct cfi_table){ .rows = NULL };
	return err ? err : cfi_load_elf(t, &elf);
}

void cfi_free(struct cfi_table *t)
{
	free(t->rows);
	*t = (struct cfi_table){ .rows = NULL };
}

/* The number of rows at or below an address. */
static size_t count_rows_up_to(const struct cfi_table *t, uint64_t vaddr)
{
	return SEARCH_RANK(t->rows, t->count, vaddr, vaddr);
}

/* Whether nothing is known from vaddr to end, exclusive. */
static bool is_gap(const struct cfi_table *t, uint64_t vaddr, uint64_t end)
{
	size_t next = count_rows_up_to(t, vaddr);

	return vaddr < end && cfi_find(t, vaddr).kind == UNWIND_GAP &&
	       (next == t->count || t->rows[next].vaddr >= end);
}

/* Sees to it that no two neighbours have the same address or rule. The number of rows kept. */
static size_t drop_repeated_rows(struct cfi_row *rows, size_t n, const struct unwind_rule *before)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && rows[i + 1].vaddr == rows[i].vaddr)
			continue;
		if (is_same_rule(kept ? &rows[kept - 1].rule : before, &rows[i].rule))
			continue;
		rows[kept++] = rows[i];
	}
	return kept;
}

/* Puts n rows in the place of those from first to last, exclusive. */
static void replace_rows(struct cfi_table *t, size_t first, size_t last, const struct cfi_row *rows,
			 size_t n)
{
	size_t count = t->count - (last - first) + n;

	if (count > t->count)
		t->rows = mem_realloc(t->rows, count, sizeof(*t->rows));
	if (first + n != last)
		memmove(t->rows + first + n, t->rows + last, (t->count - last) * sizeof(*rows));
	memcpy(t->rows + first, rows, n * sizeof(*rows));
	t->count = count;
}

/* Together with the rows before and behind, which may have the same address or rule. */
bool cfi_fill_gap(struct cfi_table *t, const struct cfi_row *rows, size_t n, uint64_t end)
{
	size_t at, first, last, n_all = 0;
	struct cfi_row *all;

	if (!n || !t->count || !is_gap(t, rows[0].vaddr, end))
		return false;
	at = count_rows_up_to(t, rows[0].vaddr);
	first = at ? at - 1 : 0;
	last = at < t->count ? at + 1 : at;
	all = mem_zalloc(n + 3, sizeof(*all));
	for (size_t i = first; i < at; i++)
		all[n_all++] = t->rows[i];
	memcpy(all + n_all, rows, n * sizeof(*rows));
	n_all += n;
	all[n_all++] = (struct cfi_row){ .vaddr = end, .rule = gap };
	for (size_t i = at; i < last; i++)
		all[n_all++] = t->rows[i];
	n_all = drop_repeated_rows(all, n_all, first ? &t->rows[first - 1].rule : &gap);
	replace_rows(t, first, last, all, n_all);
	free(all);
	return true;
}

uint64_t cfi_gap_end(const struct cfi_table *t, uint64_t vaddr, uint64_t max_bytes)
{
	size_t next = count_rows_up_to(t, vaddr);

	if (next < t->count && t->rows[next].vaddr - vaddr < max_bytes)
		return t->rows[next].vaddr;
	return vaddr + max_bytes;
}

struct unwind_rule cfi_find(const struct cfi_table *t, uint64_t vaddr)
{
	size_t n = count_rows_up_to(t, vaddr);

	return n ? t->rows[n - 1].rule : gap;
}
