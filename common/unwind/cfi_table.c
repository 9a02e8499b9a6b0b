// SPDX-License-Identifier: GPL-2.0-only
/* Unwind rules by address; see cfi_table.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "unwind/cfi_table.h"

#define RECENT_BITS 10
/* space in bytes below the first row, for rows of gaps before it */
#define BASE_BEFORE   (1ULL << 31)
#define BASE_MULTIPLE (1ULL << 16)
#define REACH	      ((1ULL << 31) - 2 * BASE_MULTIPLE)

static const struct unwind_rule no_rule = { .kind = UNWIND_GAP };

static bool is_same_rule(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return cfi_rule_bits(a) == cfi_rule_bits(b);
}

void cfi_free(struct cfi_table *t)
{
	free(t->cells);
	free(t->rules);
	free(t->recent);
	*t = (struct cfi_table){ .cells = NULL };
}

/* ---- appending ---- */

/* Returns the index of the rule. Alternating rules with the same hash are added repeatedly. */
static uint32_t intern_rule(struct cfi_table *t, const struct unwind_rule *rule)
{
	uint32_t *recent =
		&t->recent[cfi_rule_bits(rule) * 0x9e3779b97f4a7c15ULL >> (64 - RECENT_BITS)];

	if (*recent && is_same_rule(&t->rules[*recent - 1], rule))
		return *recent - 1;
	*MEM_APPEND(t->rules, t->n_rules, t->rules_cap) = *rule;
	*recent = (uint32_t)t->n_rules;
	return *recent - 1;
}

static void begin(struct cfi_table *t, uint64_t vaddr)
{
	t->base = vaddr > BASE_BEFORE ? (vaddr - BASE_BEFORE) & -BASE_MULTIPLE : 0;
	if (!t->recent)
		t->recent = mem_zalloc(1 << RECENT_BITS, sizeof(*t->recent));
}

/* Replaces the last rule; drops the row if it then equals the one before. */
static void replace_last(struct cfi_table *t, const struct unwind_rule *rule)
{
	size_t before = t->count - 1;

	if (is_same_rule(before ? &t->rules[t->cells[before - 1].rule] : &no_rule, rule))
		t->count--;
	else
		t->cells[before].rule = intern_rule(t, rule);
}

bool cfi_reaches(const struct cfi_table *t, uint64_t start, uint64_t end)
{
	return end - (t->count ? cfi_vaddr(t, 0) : start) <= REACH;
}

int cfi_append(struct cfi_table *t, uint64_t vaddr, const struct unwind_rule *rule)
{
	if (cfi_rule_bits(rule) == t->last)
		return 0;
	if (!t->count)
		begin(t, vaddr);
	if (vaddr - t->base > UINT32_MAX || t->count == CFI_ROWS_MAX)
		return -EFBIG;
	t->last = cfi_rule_bits(rule);
	if (t->count && vaddr <= cfi_vaddr(t, t->count - 1)) {
		replace_last(t, rule);
		return 0;
	}
	t->n_ends += rule->kind == UNWIND_END;
	*MEM_APPEND(t->cells, t->count, t->cells_cap) =
		(struct cfi_cell){ (uint32_t)(vaddr - t->base), intern_rule(t, rule) };
	return 0;
}

void cfi_trim(struct cfi_table *t)
{
	t->cells = mem_realloc(t->cells, t->count, sizeof(*t->cells));
	t->cells_cap = t->count;
}

/* ---- looking up ---- */

/* Returns the number of rows that start at or below vaddr. */
static size_t count_rows_up_to(const struct cfi_table *t, uint64_t vaddr)
{
	uint64_t at = vaddr - t->base;

	if (!t->count || vaddr < t->base)
		return 0;
	return SEARCH_RANK(t->cells, t->count, at, at);
}

struct unwind_rule cfi_find(const struct cfi_table *t, uint64_t vaddr)
{
	size_t n = count_rows_up_to(t, vaddr);

	return n ? t->rules[t->cells[n - 1].rule] : no_rule;
}

uint64_t cfi_gap_end(const struct cfi_table *t, uint64_t vaddr, uint64_t max_bytes)
{
	size_t next = count_rows_up_to(t, vaddr);

	if (next < t->count && cfi_vaddr(t, next) - vaddr < max_bytes)
		return cfi_vaddr(t, next);
	return vaddr + max_bytes;
}

/* Limits the gap to the code of a segment. False: it does not begin in one. */
static bool clip_to_code(const struct elf64 *elf, struct cfi_gap *gap)
{
	Elf64_Phdr load;
	uint64_t left;

	if (elf64_find_load(elf, gap->vaddr, &load) || !(load.p_flags & PF_X))
		return false;
	left = load.p_filesz - (gap->vaddr - load.p_vaddr);
	if (gap->end - gap->vaddr > left)
		gap->end = gap->vaddr + left;
	return true;
}

static uint64_t find_first_code(const struct cfi_table *t, const struct elf64 *elf)
{
	Elf64_Shdr text;

	if (elf64_find_section(elf, ".text", &text) || text.sh_addr > cfi_vaddr(t, 0))
		return cfi_vaddr(t, 0);
	return text.sh_addr;
}

/*
 * Returns the end of the code after the last row. On arm64, a word of the data that may follow in
 * the same segment would be a computed jump.
 */
static uint64_t find_last_code(const struct elf64 *elf, uint64_t vaddr)
{
	Elf64_Shdr text;

	if (elf->header.e_machine != EM_AARCH64 || elf64_find_section(elf, ".text", &text) ||
	    vaddr - text.sh_addr >= text.sh_size)
		return UINT64_MAX;
	return text.sh_addr + text.sh_size;
}

bool cfi_next_gap(const struct cfi_table *t, const struct elf64 *elf, uint64_t min_bytes,
		  struct cfi_gap *gap)
{
	uint64_t start = gap->end || !t->count ? gap->end : find_first_code(t, elf);

	for (size_t n = count_rows_up_to(t, start); n <= t->count; n++) {
		gap->vaddr = n && cfi_vaddr(t, n - 1) > start ? cfi_vaddr(t, n - 1) : start;
		gap->end = n < t->count ? cfi_vaddr(t, n) : find_last_code(elf, gap->vaddr);
		if ((!n || t->rules[t->cells[n - 1].rule].kind == UNWIND_GAP) &&
		    gap->end - gap->vaddr >= min_bytes && clip_to_code(elf, gap) &&
		    gap->end - gap->vaddr >= min_bytes)
			return true;
	}
	return false;
}

/* ---- filling gaps ---- */

/* Returns true if there is no rule from vaddr to end, exclusive. */
static bool is_gap(const struct cfi_table *t, uint64_t vaddr, uint64_t end)
{
	size_t next = count_rows_up_to(t, vaddr);

	return vaddr < end && vaddr >= t->base && end - t->base <= UINT32_MAX &&
	       cfi_find(t, vaddr).kind == UNWIND_GAP &&
	       (next == t->count || cfi_vaddr(t, next) >= end);
}

/* Drops rows so that no two neighbours have the same address or rule. Returns their new number. */
static size_t drop_repeated_rows(const struct cfi_table *t, struct cfi_cell *cells, size_t n,
				 const struct unwind_rule *before)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && cells[i + 1].at == cells[i].at)
			continue;
		if (is_same_rule(before, &t->rules[cells[i].rule]))
			continue;
		cells[kept++] = cells[i];
		before = &t->rules[cells[i].rule];
	}
	return kept;
}

/* Replaces the rows from first to last, exclusive, by n rows. */
static void replace_rows(struct cfi_table *t, size_t first, size_t last,
			 const struct cfi_cell *cells, size_t n)
{
	size_t count = t->count - (last - first) + n;

	if (count > t->cells_cap) {
		t->cells = mem_realloc(t->cells, count, sizeof(*t->cells));
		t->cells_cap = count;
	}
	if (first + n != last)
		memmove(t->cells + first + n, t->cells + last, (t->count - last) * sizeof(*cells));
	memcpy(t->cells + first, cells, n * sizeof(*cells));
	t->count = count;
	t->last = cfi_rule_bits(&t->rules[t->cells[count - 1].rule]);
}

static struct cfi_cell cell_of(struct cfi_table *t, uint64_t vaddr, const struct unwind_rule *rule)
{
	return (struct cfi_cell){ (uint32_t)(vaddr - t->base), intern_rule(t, rule) };
}

/* Rebuilds the rows around the gap, too, since neighbours may have the same address or rule. */
bool cfi_fill_gap(struct cfi_table *t, const struct cfi_row *rows, size_t n, uint64_t end)
{
	size_t at, first, last, n_all = 0;
	struct cfi_cell *all;

	if (!n || !t->count || !is_gap(t, rows[0].vaddr, end))
		return false;
	at = count_rows_up_to(t, rows[0].vaddr);
	first = at ? at - 1 : 0;
	last = at < t->count ? at + 1 : at;
	all = mem_zalloc(n + 3, sizeof(*all));
	for (size_t i = first; i < at; i++)
		all[n_all++] = t->cells[i];
	for (size_t i = 0; i < n; i++)
		all[n_all++] = cell_of(t, rows[i].vaddr, &rows[i].rule);
	all[n_all++] = cell_of(t, end, &no_rule);
	for (size_t i = at; i < last; i++)
		all[n_all++] = t->cells[i];
	n_all = drop_repeated_rows(t, all, n_all,
				   first ? &t->rules[t->cells[first - 1].rule] : &no_rule);
	replace_rows(t, first, last, all, n_all);
	free(all);
	return true;
}

bool cfi_fill_gap_from(struct cfi_table *t, const struct cfi_table *from, size_t n, uint64_t end)
{
	struct cfi_row *rows = mem_zalloc(n, sizeof(*rows));
	bool is_filled;

	for (size_t i = 0; i < n; i++)
		rows[i] = cfi_row(from, i);
	is_filled = cfi_fill_gap(t, rows, n, end);
	free(rows);
	return is_filled;
}
