// SPDX-License-Identifier: GPL-2.0-only
/* Unwind tables in pages, rows and rules; see unwind_tables.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "unwind_tables.h"

#define PAGE_BYTES    (1ULL << UNWIND_PAGE_SHIFT)
#define PAGE_MAX_ROWS 0xffff
#define RULE_SLOTS    (2 * UNWIND_MAX_RULES) /* of the hash table: half full at most */

struct unwind_tables {
	struct unwind_backing to;
	struct unwind_shard *shards[UNWIND_MAX_SHARDS];
	uint32_t n_shards, shard_used; /* rows used in the last one */
	uint32_t n_pages, n_rules;
	uint64_t n_rows;
	uint16_t rule_slots[RULE_SLOTS]; /* id + 1 */
};

struct unwind_tables *unwind_tables_new(const struct unwind_backing *backing)
{
	struct unwind_tables *t = mem_zalloc(1, sizeof(*t));

	t->to = *backing;
	t->shard_used = UNWIND_SHARD_ROWS;
	t->n_rules = 1; /* rule 0, all zero, is a gap */
	return t;
}

void unwind_tables_free(struct unwind_tables *t)
{
	free(t);
}

static uint64_t rule_bits(const struct unwind_rule *rule)
{
	uint64_t bits;

	_Static_assert(sizeof(*rule) == sizeof(bits), "a rule is 8 bytes");
	memcpy(&bits, rule, sizeof(bits));
	return bits;
}

/* The rule's number; -ENOSPC where there are too many. */
static int intern_rule(struct unwind_tables *t, const struct unwind_rule *rule)
{
	uint64_t bits = rule_bits(rule);
	size_t slot = (bits * 0x9e3779b97f4a7c15ULL >> 40) % RULE_SLOTS;

	if (rule->kind == UNWIND_GAP)
		return UNWIND_RULE_GAP;
	for (; t->rule_slots[slot]; slot = (slot + 1) % RULE_SLOTS)
		if (rule_bits(&t->to.rules[t->rule_slots[slot] - 1]) == bits)
			return t->rule_slots[slot] - 1;
	if (t->n_rules == UNWIND_MAX_RULES)
		return -ENOSPC;
	t->to.rules[t->n_rules] = *rule;
	t->rule_slots[slot] = (uint16_t)(t->n_rules + 1);
	return (int)t->n_rules++;
}

/* Makes room for n rows that lie together. */
static int reserve_rows(struct unwind_tables *t, uint32_t n)
{
	if (t->shard_used + n <= UNWIND_SHARD_ROWS)
		return 0;
	if (t->n_shards == UNWIND_MAX_SHARDS)
		return -ENOSPC;
	t->shards[t->n_shards] = t->to.new_shard(t->n_shards, t->to.arg);
	if (!t->shards[t->n_shards])
		return -ENOSPC;
	t->n_shards++;
	t->shard_used = 0;
	return 0;
}

static int put_row(struct unwind_tables *t, const struct cfi_row *row, uint32_t low)
{
	int rule = intern_rule(t, &row->rule);

	if (rule < 0)
		return rule;
	t->shards[t->n_shards - 1]->rows[t->shard_used++] = UNWIND_ROW(low, rule);
	t->n_rows++;
	return 0;
}

/*
 * One page: rows[*next] is the first row at or behind its beginning; rows[*next - 1] is in force
 * there, if there is one.
 */
static int put_page(struct unwind_tables *t, const struct cfi_table *cfi, uint64_t number,
		    size_t *next)
{
	static const struct cfi_row gap = { .rule = { .kind = UNWIND_GAP } };
	uint64_t begin = number << UNWIND_PAGE_SHIFT, end = begin + PAGE_BYTES;
	struct unwind_page *page = &t->to.pages[t->n_pages];
	size_t last = *next;
	int err;

	while (last < cfi->count && cfi->rows[last].vaddr < end)
		last++;
	if (last - *next >= PAGE_MAX_ROWS)
		return -ENOSPC;
	err = reserve_rows(t, (uint32_t)(last - *next) + 1);
	if (err)
		return err;
	page->first_row = t->shard_used;
	page->shard = (uint16_t)(t->n_shards - 1);
	if (*next == last || cfi->rows[*next].vaddr != begin)
		err = put_row(t, *next ? &cfi->rows[*next - 1] : &gap, 0);
	for (; !err && *next < last; (*next)++)
		err = put_row(t, &cfi->rows[*next], cfi->rows[*next].vaddr & (PAGE_BYTES - 1));
	page->n_rows = (uint16_t)(t->shard_used - page->first_row);
	t->n_pages += !err;
	return err;
}

int unwind_tables_add(struct unwind_tables *t, const struct cfi_table *cfi, struct unwind_run *run)
{
	uint64_t first, last;
	size_t next = 0;
	int err = 0;

	memset(run, 0, sizeof(*run));
	if (!cfi->count)
		return 0;
	first = cfi->rows[0].vaddr >> UNWIND_PAGE_SHIFT;
	last = cfi->rows[cfi->count - 1].vaddr >> UNWIND_PAGE_SHIFT;
	if (last - first >= UNWIND_MAX_PAGES - t->n_pages)
		return -ENOSPC;
	run->first_page = t->n_pages;
	run->page_base = first;
	for (uint64_t number = first; !err && number <= last; number++)
		err = put_page(t, cfi, number, &next);
	run->n_pages = err ? 0 : t->n_pages - run->first_page;
	return err;
}

const struct unwind_rule *unwind_tables_find(const struct unwind_tables *t,
					     const struct unwind_mapping *m, uint64_t vaddr)
{
	uint64_t index = (vaddr >> UNWIND_PAGE_SHIFT) - m->page_base;
	const struct unwind_page *page;
	uint32_t low = vaddr & (PAGE_BYTES - 1), below = 0, above, middle;
	const uint32_t *rows;

	if (index >= m->n_pages)
		return NULL;
	page = &t->to.pages[m->first_page + index];
	rows = t->shards[page->shard]->rows + page->first_row;
	for (above = page->n_rows; above - below > 1;) {
		middle = (below + above) / 2;
		if ((rows[middle] & 0xffff) <= low)
			below = middle;
		else
			above = middle;
	}
	return &t->to.rules[rows[below] >> 16];
}

struct unwind_tables_size unwind_tables_size(const struct unwind_tables *t)
{
	return (struct unwind_tables_size){
		.n_rules = t->n_rules,
		.n_pages = t->n_pages,
		.n_shards = t->n_shards,
		.n_rows = t->n_rows,
	};
}
