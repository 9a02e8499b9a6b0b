// SPDX-License-Identifier: GPL-2.0-only
/* Unwind tables in pages, rows and rules; see unwind_tables.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/extents.h"
#include "base/hash.h"
#include "base/mem.h"
#include "unwind/unwind_tables.h"

#define PAGE_BYTES     (1ULL << UNWIND_PAGE_SHIFT)
#define PAGE_MAX_CELLS 0xffff
#define PAGE_MAX_ROWS  (PAGE_MAX_CELLS - UNWIND_RULES_AT - UNWIND_PAGE_RULES)
#define OTHER_RULES    (UNWIND_PAGE_RULES - 1) /* index shared by all rules that don't fit */
#define NO_RULE	       UINT32_MAX
#define RULE_SLOTS     (2 * UNWIND_MAX_RULES) /* slots of the hash table: at most half full */
#define BAD_RULE       1		      /* index of the rule UNWIND_BAD */
#define PATTERN_SLOTS  (2 * UNWIND_MAX_PATTERNS)
#define SIGHTINGS      (1U << 14)
#define SERIAL_MAX     0xffffff
#define STEP_MAX_BYTES 4 /* maximum distance of rules in a pattern */
#define REST_NS	       NS_PER_S

/* A page under construction. */
struct draft {
	uint32_t serial; /* number of this draft; never 0 */
	bool has_patterns, is_overfull;
	uint32_t n_rules, n_rows;
	uint16_t rules[UNWIND_PAGE_RULES];
	uint16_t rows[PAGE_MAX_ROWS];
	uint16_t begins[UNWIND_PAGE_BLOCKS + 1]; /* index of each block's first row */
};

/* Pages of a removed file that walks may still use. */
struct removed {
	struct removed *next;
	struct unwind_run run;
	uint64_t removed_ns;
};

struct unwind_tables {
	struct unwind_backing to;
	struct unwind_shard *shards[UNWIND_MAX_SHARDS];
	uint32_t n_shards, n_pages, n_rules, n_patterns;
	struct extents cells, pages; /* free cells of the shards; free pages below n_pages */
	struct removed *resting, **resting_tail;
	uint32_t lone_rule; /* the only rule of the previous page; NO_RULE: several */
	uint64_t n_rows;
	uint16_t rule_slots[RULE_SLOTS]; /* index + 1; 0: free */
	uint16_t pattern_slots[PATTERN_SLOTS];
	uint32_t sightings[SIGHTINGS]; /* upper hash bits of rows seen before, by lower bits */
	struct place {
		uint32_t serial : 24, place : 8; /* valid for the draft with that serial */
	} places[UNWIND_MAX_RULES + UNWIND_MAX_PATTERNS];
	struct draft draft;
	uint16_t *ids; /* indices in to.rules, by the added file's rules */
};

/* Returns the rule's index; that of UNWIND_BAD if there are too many rules. */
static uint16_t intern_rule(struct unwind_tables *t, const struct unwind_rule *rule)
{
	uint64_t bits = cfi_rule_bits(rule);
	size_t slot = (bits * 0x9e3779b97f4a7c15ULL >> 40) % RULE_SLOTS;

	if (rule->kind == UNWIND_GAP)
		return UNWIND_RULE_GAP;
	for (; t->rule_slots[slot]; slot = (slot + 1) % RULE_SLOTS)
		if (cfi_rule_bits(&t->to.rules[t->rule_slots[slot] - 1]) == bits)
			return (uint16_t)(t->rule_slots[slot] - 1);
	if (t->n_rules == UNWIND_MAX_RULES)
		return BAD_RULE;
	t->to.rules[t->n_rules] = *rule;
	t->rule_slots[slot] = (uint16_t)(t->n_rules + 1);
	return (uint16_t)t->n_rules++;
}

struct unwind_tables *unwind_tables_new(const struct unwind_backing *backing)
{
	struct unwind_tables *t = mem_zalloc(1, sizeof(*t));

	t->to = *backing;
	t->cells.border = UNWIND_SHARD_CELLS;
	t->resting_tail = &t->resting;
	t->n_rules = 1; /* rule 0, all zero, is a gap */
	intern_rule(t, &(struct unwind_rule){ .kind = UNWIND_BAD });
	t->lone_rule = NO_RULE;
	return t;
}

void unwind_tables_free(struct unwind_tables *t)
{
	for (struct removed *removed = t->resting, *next; removed; removed = next) {
		next = removed->next;
		free(removed);
	}
	extents_clear(&t->cells);
	extents_clear(&t->pages);
	free(t);
}

/* ---- patterns ---- */

static bool is_same_pattern(const struct unwind_pattern *a, const struct unwind_pattern *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static uint64_t hash_pattern(const struct unwind_pattern *pattern)
{
	uint64_t words[3];

	_Static_assert(sizeof(*pattern) == sizeof(words), "a pattern is 24 bytes");
	memcpy(words, pattern, sizeof(words));
	return hash_words(words, ARRAY_SIZE(words));
}

/* Returns true if rows were seen before: as a pattern, unique rows would take more space. */
static bool was_seen_before(struct unwind_tables *t, uint64_t hash)
{
	uint32_t *sighting = &t->sightings[hash % SIGHTINGS], mark = (uint32_t)(hash >> 32) | 1;
	bool before = *sighting == mark;

	*sighting = mark;
	return before;
}

/*
 * Returns the pattern's number, as stored in rows; adds the pattern when it comes again. -ENOENT:
 * it came for the first time, or the table is full.
 */
static int intern_pattern(struct unwind_tables *t, const struct unwind_pattern *pattern)
{
	uint64_t hash = hash_pattern(pattern);
	size_t slot = hash % PATTERN_SLOTS;

	for (; t->pattern_slots[slot]; slot = (slot + 1) % PATTERN_SLOTS)
		if (is_same_pattern(&t->to.patterns[t->pattern_slots[slot] - 1], pattern))
			return UNWIND_FIRST_PATTERN + t->pattern_slots[slot] - 1;
	if (t->n_patterns == UNWIND_MAX_PATTERNS || !was_seen_before(t, hash))
		return -ENOENT;
	t->to.patterns[t->n_patterns] = *pattern;
	t->pattern_slots[slot] = (uint16_t)(t->n_patterns + 1);
	return (int)(UNWIND_FIRST_PATTERN + t->n_patterns++);
}

/* Returns how many rows, from the first one on, are close enough for one pattern. */
static size_t count_steps(const struct cfi_cell *rows, size_t n)
{
	size_t i = 1;

	while (i < n && i < UNWIND_PATTERN_STEPS && rows[i].at - rows[i - 1].at <= STEP_MAX_BYTES &&
	       rows[i].at >> UNWIND_BLOCK_SHIFT == rows[0].at >> UNWIND_BLOCK_SHIFT)
		i++;
	return i;
}

/* Returns the number of the pattern of n rows, or -ENOENT. */
static int find_pattern(struct unwind_tables *t, const struct cfi_cell *rows, size_t n)
{
	struct unwind_pattern pattern = { .rules = { 0 } };

	memset(pattern.offsets, UNWIND_NO_STEP, sizeof(pattern.offsets));
	for (size_t i = 0; i < n; i++) {
		pattern.offsets[i] = (uint8_t)(rows[i].at - rows[0].at);
		pattern.rules[i] = t->ids[rows[i].rule];
	}
	return intern_pattern(t, &pattern);
}

/* ---- pages ---- */

static int add_shard(struct unwind_tables *t)
{
	uint32_t n = 0;

	while (n < UNWIND_MAX_SHARDS && t->shards[n])
		n++;
	if (n == UNWIND_MAX_SHARDS)
		return -ENOSPC;
	t->shards[n] = t->to.new_shard(n, t->to.arg);
	if (!t->shards[n])
		return -ENOSPC;
	t->n_shards++;
	extents_add(&t->cells, (uint64_t)n * UNWIND_SHARD_CELLS, UNWIND_SHARD_CELLS);
	return 0;
}

/* Drops all empty shards but one, which the next file may need. */
void unwind_tables_drop_spare(struct unwind_tables *t)
{
	for (uint64_t at; extents_take_spare(&t->cells, UNWIND_SHARD_CELLS, &at); t->n_shards--) {
		uint32_t n = (uint32_t)(at / UNWIND_SHARD_CELLS);

		t->to.drop_shard(n, t->shards[n], t->to.arg);
		t->shards[n] = NULL;
	}
}

/* Allocates n contiguous cells, numbered through all shards. */
static int take_cells(struct unwind_tables *t, uint32_t n, uint64_t *first)
{
	if (extents_take(&t->cells, n, first))
		return 0;
	return add_shard(t) || !extents_take(&t->cells, n, first) ? -ENOSPC : 0;
}

static int take_pages(struct unwind_tables *t, uint32_t n, uint32_t *first)
{
	uint64_t at;

	if (extents_take(&t->pages, n, &at)) {
		*first = (uint32_t)at;
		return 0;
	}
	if (n > t->to.max_pages - t->n_pages)
		return -ENOSPC;
	*first = t->n_pages;
	t->n_pages += n;
	return 0;
}

static bool is_same_page(const struct unwind_page *a, const struct unwind_page *b)
{
	return a->shard == b->shard && a->first_cell == b->first_cell;
}

/* Frees a run. Consecutive pages may have the same cells, see repeat_page(). */
static void give_back(struct unwind_tables *t, const struct unwind_run *run)
{
	const struct unwind_page *pages = t->to.pages + run->first_page;

	for (uint32_t i = 0; i < run->n_pages; i++)
		if (!i || !is_same_page(&pages[i], &pages[i - 1]))
			extents_add(&t->cells,
				    pages[i].shard * UNWIND_SHARD_CELLS + pages[i].first_cell,
				    pages[i].n_cells);
	extents_add(&t->pages, run->first_page, run->n_pages);
	t->n_rows -= run->n_rows;
}

/* Returns the index of a rule or pattern in the page's list; UNWIND_BAD's if it is full. */
static uint32_t place_number(struct unwind_tables *t, int number)
{
	struct draft *d = &t->draft;

	if (t->places[number].serial == d->serial)
		return t->places[number].place;
	if (d->n_rules >= OTHER_RULES) {
		d->rules[OTHER_RULES] = BAD_RULE;
		d->n_rules = UNWIND_PAGE_RULES;
		d->is_overfull = true;
		return OTHER_RULES;
	}
	t->places[number].serial = d->serial;
	t->places[number].place = d->n_rules;
	d->rules[d->n_rules] = (uint16_t)number;
	return d->n_rules++;
}

/* Adds a row. low: the low bits of the address at which the rule or pattern begins to apply. */
static void draft_row(struct unwind_tables *t, int number, uint32_t low)
{
	struct draft *d = &t->draft;
	uint32_t place = place_number(t, number);

	d->rows[d->n_rows++] = UNWIND_ROW(low & 0xff, place);
	d->begins[(low >> UNWIND_BLOCK_SHIFT) + 1]++;
}

/* Adds n rows of a page, as a single row if there is a pattern for them. */
static void draft_rows(struct unwind_tables *t, const struct cfi_cell *rows, size_t n)
{
	int number = n > 1 && t->draft.has_patterns ? find_pattern(t, rows, n) : -ENOENT;

	if (number != -ENOENT)
		draft_row(t, number, rows[0].at & (PAGE_BYTES - 1));
	else
		for (size_t i = 0; i < n; i++)
			draft_row(t, t->ids[rows[i].rule], rows[i].at & (PAGE_BYTES - 1));
}

/* Converts row counts per block to start indices. */
static void sum_up_blocks(struct draft *d)
{
	for (uint32_t i = 1; i <= UNWIND_PAGE_BLOCKS; i++)
		d->begins[i] = (uint16_t)(d->begins[i] + d->begins[i - 1]);
}

/* Reuses the previous page's cells, if both have the same single rule. */
static bool repeat_page(struct unwind_tables *t, struct unwind_page *page)
{
	uint32_t rule = t->draft.n_rows == 1 ? t->draft.rules[0] : NO_RULE;
	bool is_same = rule != NO_RULE && rule == t->lone_rule;

	t->lone_rule = rule;
	if (!is_same)
		return false;
	*page = page[-1];
	return true;
}

static int put_draft(struct unwind_tables *t, struct unwind_page *page)
{
	uint32_t rows_at = UNWIND_RULES_AT + t->draft.n_rules, n = rows_at + t->draft.n_rows;
	uint64_t at;
	uint16_t *cells;
	int err;

	if (repeat_page(t, page))
		return 0;
	err = take_cells(t, n, &at);
	if (err)
		return err;
	sum_up_blocks(&t->draft);
	cells = t->shards[at / UNWIND_SHARD_CELLS]->cells + at % UNWIND_SHARD_CELLS;
	for (uint32_t i = 0; i <= UNWIND_PAGE_BLOCKS; i++)
		cells[i] = (uint16_t)(rows_at + t->draft.begins[i]);
	memcpy(cells + UNWIND_RULES_AT, t->draft.rules, t->draft.n_rules * sizeof(*cells));
	memcpy(cells + rows_at, t->draft.rows, t->draft.n_rows * sizeof(*cells));
	*page = (struct unwind_page){ .first_cell = at % UNWIND_SHARD_CELLS,
				      .shard = (uint16_t)(at / UNWIND_SHARD_CELLS),
				      .n_cells = (uint16_t)n };
	return 0;
}

static void begin_draft(struct unwind_tables *t, bool has_patterns)
{
	struct draft *d = &t->draft;

	if (d->serial == SERIAL_MAX) {
		memset(t->places, 0, sizeof(t->places));
		d->serial = 0;
	}
	d->serial++;
	d->has_patterns = has_patterns;
	d->is_overfull = false;
	d->n_rules = d->n_rows = 0;
	memset(d->begins, 0, sizeof(d->begins));
}

/* Builds the page that begins at `begin`, with rows next to last, exclusive. */
static void draft_page(struct unwind_tables *t, const struct cfi_table *cfi, uint64_t begin,
		       size_t next, size_t last, bool has_patterns)
{
	begin_draft(t, has_patterns);
	if (next == last || cfi_vaddr(cfi, next) != begin)
		draft_row(t, next ? t->ids[cfi->cells[next - 1].rule] : UNWIND_RULE_GAP, 0);
	for (size_t n; next < last; next += n) {
		n = count_steps(cfi->cells + next, last - next);
		draft_rows(t, cfi->cells + next, n);
	}
}

/*
 * Adds one page at the end of the run: rows[*next] is the first row at or after its beginning;
 * rows[*next - 1], if any, applies there. Patterns also take space in the page's list: if rules
 * don't fit, builds the page without patterns.
 */
static int put_page(struct unwind_tables *t, const struct cfi_table *cfi, struct unwind_run *run,
		    size_t *next)
{
	uint64_t number = run->page_base + run->n_pages;
	uint64_t begin = number << UNWIND_PAGE_SHIFT;
	size_t first = *next, last = first;
	int err;

	while (last < cfi->count && cfi_vaddr(cfi, last) - begin < PAGE_BYTES)
		last++;
	if (last - first >= PAGE_MAX_ROWS)
		return -ENOSPC;
	draft_page(t, cfi, begin, first, last, true);
	if (t->draft.is_overfull)
		draft_page(t, cfi, begin, first, last, false);
	*next = last;
	err = put_draft(t, &t->to.pages[run->first_page + run->n_pages]);
	if (err)
		return err;
	run->n_pages++;
	run->n_rows += last - first + (first == last || cfi_vaddr(cfi, first) != begin);
	return 0;
}

static int put_pages(struct unwind_tables *t, const struct cfi_table *cfi, uint32_t n_pages,
		     struct unwind_run *run)
{
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; i < cfi->n_rules; i++)
		t->ids[i] = intern_rule(t, &cfi->rules[i]);
	t->lone_rule = NO_RULE;
	while (!err && run->n_pages < n_pages)
		err = put_page(t, cfi, run, &next);
	return err;
}

int unwind_tables_add(struct unwind_tables *t, const struct cfi_table *cfi, struct unwind_run *run)
{
	uint64_t first, last;
	int err;

	memset(run, 0, sizeof(*run));
	if (!cfi->count)
		return 0;
	first = cfi_vaddr(cfi, 0) >> UNWIND_PAGE_SHIFT;
	last = cfi_vaddr(cfi, cfi->count - 1) >> UNWIND_PAGE_SHIFT;
	if (last - first >= t->to.max_pages ||
	    take_pages(t, (uint32_t)(last - first) + 1, &run->first_page))
		return -ENOSPC;
	run->page_base = first;
	t->ids = mem_zalloc(cfi->n_rules, sizeof(*t->ids));
	err = put_pages(t, cfi, (uint32_t)(last - first) + 1, run);
	free(t->ids);
	t->n_rows += run->n_rows;
	if (!err)
		return 0;
	give_back(t, run);
	extents_add(&t->pages, run->first_page + run->n_pages,
		    (uint32_t)(last - first) + 1 - run->n_pages);
	memset(run, 0, sizeof(*run));
	return err;
}

void unwind_tables_remove(struct unwind_tables *t, const struct unwind_run *run, uint64_t now_ns)
{
	struct removed *removed;

	unwind_tables_reclaim(t, now_ns);
	unwind_tables_drop_spare(t);
	if (!run->n_pages)
		return;
	removed = mem_zalloc(1, sizeof(*removed));
	removed->run = *run;
	removed->removed_ns = now_ns;
	*t->resting_tail = removed;
	t->resting_tail = &removed->next;
}

void unwind_tables_reclaim(struct unwind_tables *t, uint64_t now_ns)
{
	for (struct removed *removed; (removed = t->resting);) {
		if (now_ns < removed->removed_ns + REST_NS)
			break;
		t->resting = removed->next;
		give_back(t, &removed->run);
		free(removed);
	}
	if (!t->resting)
		t->resting_tail = &t->resting;
}

const struct unwind_rule *unwind_tables_find(const struct unwind_tables *t,
					     const struct unwind_mapping *m, uint64_t addr)
{
	uint64_t at = addr - m->pages_start, index = at >> UNWIND_PAGE_SHIFT;
	const struct unwind_page *page;
	uint32_t number, distance;

	if (index >= m->n_pages)
		return NULL;
	page = &t->to.pages[m->first_page + index];
	number = unwind_search(t->shards[page->shard], page->first_cell, at & (PAGE_BYTES - 1),
			       &distance);
	if (number >= UNWIND_FIRST_PATTERN)
		number = unwind_pattern_rule(&t->to.patterns[number - UNWIND_FIRST_PATTERN],
					     distance);
	return &t->to.rules[number];
}

struct unwind_tables_size unwind_tables_size(const struct unwind_tables *t)
{
	return (struct unwind_tables_size){
		.n_rules = t->n_rules,
		.n_patterns = t->n_patterns,
		.n_pages = t->n_pages,
		.n_shards = t->n_shards,
		.n_rows = t->n_rows,
	};
}
