// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind tables as BPF reads them, in memory of our own: what lies where, all limits, and real
 * files' tables, which must say the same as those they were made of.
 */
#include "../cfi/image.h"
#include "unit.h"
#include "unwind/cfi.h"
#include "unwind/unwind_tables.h"

#define PAGE (1ULL << UNWIND_PAGE_SHIFT)

static struct unwind_rule *rules;
static struct unwind_page *pages;
static struct unwind_pattern *patterns;
static struct unwind_shard *shards[UNWIND_MAX_SHARDS];
static uint32_t max_shards, max_pages, n_made;

static struct unwind_shard *new_shard(uint32_t n, void *arg)
{
	(void)arg;
	if (n >= max_shards)
		return NULL;
	n_made++;
	shards[n] = mem_zalloc(1, sizeof(*shards[n]));
	return shards[n];
}

static void drop_shard(uint32_t n, struct unwind_shard *shard, void *arg)
{
	(void)arg;
	free(shard);
	shards[n] = NULL;
}

static struct unwind_tables *t;

static void tables_make(uint32_t n_shards)
{
	struct unwind_backing backing = { .new_shard = new_shard, .drop_shard = drop_shard };

	max_shards = n_shards;
	backing.max_pages = max_pages = n_shards * UNWIND_SHARD_PAGES;
	backing.rules = rules = mem_zalloc(UNWIND_MAX_RULES, sizeof(*rules));
	backing.pages = pages = mem_zalloc(max_pages, sizeof(*pages));
	backing.patterns = patterns = mem_zalloc(UNWIND_MAX_PATTERNS, sizeof(*patterns));
	t = unwind_tables_new(&backing);
}

static void tables_free(void)
{
	for (size_t i = 0; i < UNWIND_MAX_SHARDS; i++) {
		free(shards[i]);
		shards[i] = NULL;
	}
	free(rules);
	free(pages);
	free(patterns);
	unwind_tables_free(t);
}

static struct cfi_table cfi, small;
static struct unwind_run run;

BEFORE_EACH()
{
	tables_make(1);
}

static void make_anew(uint32_t n_shards)
{
	tables_free();
	tables_make(n_shards);
}

AFTER_EACH()
{
	tables_free();
	cfi_free(&cfi);
	cfi_free(&small);
}

/* A rule that is told from others by its number; 0 is a gap. */
static struct unwind_rule rule_of(int32_t number)
{
	if (!number)
		return (struct unwind_rule){ .kind = UNWIND_GAP };
	return (struct unwind_rule){ .kind = UNWIND_SP, .cfa_off = number };
}

static void add_row(struct cfi_table *to, uint64_t vaddr, int32_t number)
{
	struct unwind_rule rule = rule_of(number);

	CHECK_EQ(cfi_append(to, vaddr, &rule), 0);
}

static struct unwind_mapping mapping_of(const struct unwind_run *rows)
{
	return (struct unwind_mapping){ .first_page = rows->first_page,
					.n_pages = rows->n_pages,
					.pages_start = rows->page_base * PAGE };
}

/* The number of the rule that is found; -1: none. */
static int find(const struct unwind_run *rows, uint64_t vaddr)
{
	struct unwind_mapping m = mapping_of(rows);
	const struct unwind_rule *rule = unwind_tables_find(t, &m, vaddr);

	return rule ? rule->cfa_off : -1;
}

/* The same of the last file, as text. */
static const char *rule_at(uint64_t vaddr)
{
	return until_end(mem_printf("%d", find(&run, vaddr)));
}

TEST(rows_apply_across_the_borders_of_pages)
{
	add_row(&cfi, 3 * PAGE + 0x100, 8);
	add_row(&cfi, 4 * PAGE - 1, 16);
	add_row(&cfi, 7 * PAGE, 24); /* after two pages without rows, on the first byte */
	add_row(&cfi, 7 * PAGE + 1, 32);
	add_row(&cfi, 8 * PAGE + 0xfffe, 0);
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	CHECK_EQ(run.page_base, 3);
	CHECK_EQ(run.n_pages, 6);
	CHECK_STR(NAMES(rule_at, 0, 3 * PAGE - 1, 3 * PAGE, 3 * PAGE + 0xff, 3 * PAGE + 0x100,
			4 * PAGE - 2, 4 * PAGE - 1, 4 * PAGE, 6 * PAGE + 0x8000, 7 * PAGE - 1,
			7 * PAGE, 7 * PAGE + 1, 8 * PAGE + 0xfffd, 8 * PAGE + 0xffff, 9 * PAGE,
			UINT64_MAX),
		  "-1, -1, 0, 0, 8, 8, 16, 16, 16, 16, 24, 32, 32, 0, -1, -1");
	CHECK_EQ(pages[4].n_cells, UNWIND_RULES_AT + 2 + 2); /* the page begins with a row */
	CHECK_EQ(pages[5].n_cells,
		 UNWIND_RULES_AT + 2 + 2); /* or with a copy of the rule in force */
}

TEST(a_file_without_rows_has_no_pages)
{
	run.n_pages = 7;
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	CHECK_EQ(run.n_pages, 0);
	CHECK_EQ(find(&run, 0), -1);
	CHECK_EQ(unwind_tables_size(t).n_shards, 0);
}

TEST(rules_are_shared_by_all_files)
{
	struct unwind_run a, b;

	add_row(&cfi, 0x1000, 8);
	add_row(&cfi, 0x1010, 16);
	add_row(&cfi, 0x1020, 0);
	CHECK_EQ(unwind_tables_add(t, &cfi, &a), 0);
	add_row(&small, 0x1000, 8);
	add_row(&small, 0x1011, 24);
	add_row(&small, 0x1020, 0);
	CHECK_EQ(unwind_tables_add(t, &small, &b), 0);
	CHECK_EQ(unwind_tables_size(t).n_rules, 2 + 3);
	CHECK_EQ(find(&a, 0x1010), 16);
	CHECK_EQ(find(&b, 0x1010), 8);
	CHECK_EQ(find(&b, 0x1011), 24);
	CHECK_EQ(find(&b, 0x1020), 0);
}

/*
 * A table of n rows, each 5 bytes long, which is too far apart for patterns, with one of a few
 * rules.
 */
static struct cfi_table table_of(size_t n, uint64_t first_vaddr)
{
	struct cfi_table made = {};

	for (size_t i = 0; i < n; i++)
		add_row(&made, first_vaddr + 5 * i, 8 + 8 * (int)(i % 5));
	return made;
}

static bool tables_say_the_same(const struct unwind_run *rows, const struct cfi_table *of)
{
	for (size_t i = 0; i < of->count; i++)
		if (find(rows, cfi_vaddr(of, i)) != cfi_row(of, i).rule.cfa_off ||
		    find(rows, cfi_vaddr(of, i) + 2) != cfi_row(of, i).rule.cfa_off)
			return false;
	return true;
}

TEST(no_page_straddles_two_shards)
{
	uint32_t n_in_second = 0;
	bool fit = true;

	make_anew(3);
	cfi = table_of(UNWIND_SHARD_CELLS + 60000, 0x1234);
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	CHECK_EQ(unwind_tables_size(t).n_shards, 2);
	CHECK(unwind_tables_size(t).n_rows >= cfi.count);
	for (uint32_t i = 0; i < run.n_pages; i++) {
		fit = fit && pages[i].n_cells &&
		      pages[i].first_cell + pages[i].n_cells <= UNWIND_SHARD_CELLS;
		n_in_second += pages[i].shard == 1;
	}
	CHECK(fit);
	CHECK(n_in_second > 0);
	CHECK(tables_say_the_same(&run, &cfi));
}

/* As when a tree is built again and again: what is removed makes room, once walks have ended. */
TEST(removed_files_make_room)
{
	struct unwind_run first, kept, second;
	uint64_t n_rows;

	cfi = table_of(UNWIND_SHARD_CELLS / 2, 0);
	small = table_of(1000, 0x500);
	CHECK_EQ(unwind_tables_add(t, &cfi, &first), 0);
	CHECK_EQ(unwind_tables_add(t, &small, &kept), 0);
	n_rows = unwind_tables_size(t).n_rows;
	for (uint64_t at_ns = 0; at_ns < 200 * NS_PER_S; at_ns += 2 * NS_PER_S) {
		unwind_tables_remove(t, &first, at_ns);
		unwind_tables_reclaim(t, at_ns + NS_PER_S - 1);
		CHECK_EQ(unwind_tables_add(t, &cfi, &second), -ENOSPC);
		CHECK(tables_say_the_same(&first, &cfi));
		unwind_tables_reclaim(t, at_ns + NS_PER_S);
		CHECK_EQ(unwind_tables_add(t, &cfi, &second), 0);
		CHECK(tables_say_the_same(&second, &cfi));
		first = second;
	}
	CHECK_EQ(unwind_tables_size(t).n_rows, n_rows);
	CHECK(tables_say_the_same(&kept, &small));
}

/* BPF knows them: those of new shards come to its knowledge later. */
TEST(a_file_that_takes_the_place_of_others_has_their_shards)
{
	uint32_t n_before;

	make_anew(8);
	cfi = table_of(UNWIND_SHARD_CELLS * 3, 0);
	small = table_of(UNWIND_SHARD_CELLS * 3, 0x500);
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	n_before = n_made;
	unwind_tables_remove(t, &run, 0);
	unwind_tables_reclaim(t, NS_PER_S);
	CHECK_EQ(unwind_tables_add(t, &small, &run), 0);
	CHECK_EQ(n_made, n_before);
	CHECK(tables_say_the_same(&run, &small));
}

/*
 * Present files stay where they are; later ones go into shards that stay, or new ones. Empty shards
 * are dropped when another file is removed, or on request.
 */
TEST(empty_shards_are_dropped)
{
	struct unwind_run large, kept, again, brief;

	make_anew(8);
	cfi = table_of(UNWIND_SHARD_CELLS * 4, 0);
	small = table_of(1000, 0x500);
	for (uint64_t at_ns = 0; at_ns < 10 * NS_PER_S; at_ns += 2 * NS_PER_S) {
		CHECK_EQ(unwind_tables_add(t, &cfi, &large), 0);
		if (!at_ns)
			CHECK_EQ(unwind_tables_add(t, &small, &kept), 0);
		CHECK(unwind_tables_size(t).n_shards > 4);
		unwind_tables_remove(t, &large, at_ns);
		unwind_tables_reclaim(t, at_ns + NS_PER_S - 1);
		CHECK(unwind_tables_size(t).n_shards > 4);
		CHECK(tables_say_the_same(&large, &cfi));
		CHECK_EQ(unwind_tables_add(t, &small, &brief), 0);
		unwind_tables_remove(t, &brief, at_ns + NS_PER_S);
		CHECK_EQ(unwind_tables_size(t).n_shards, 2); /* the small one's, and a spare */
		CHECK(tables_say_the_same(&kept, &small));
	}
	CHECK_EQ(unwind_tables_add(t, &small, &again), 0);
	CHECK_EQ(unwind_tables_size(t).n_shards, 2);
	CHECK(tables_say_the_same(&again, &small));
	CHECK_EQ(unwind_tables_add(t, &cfi, &large), 0);
	unwind_tables_remove(t, &large, 20 * NS_PER_S);
	unwind_tables_reclaim(t, 21 * NS_PER_S);
	CHECK(unwind_tables_size(t).n_shards > 4);
	unwind_tables_drop_spare(t);
	CHECK_EQ(unwind_tables_size(t).n_shards, 2);
}

/* Without space for a file, those that are present go on working, and one that fits is added. */
TEST(no_more_shards_is_told)
{
	struct unwind_run first, refused, second;

	cfi = table_of(UNWIND_SHARD_CELLS, 0);
	small = table_of(1000, 0x500);
	CHECK_EQ(unwind_tables_add(t, &small, &first), 0);
	CHECK_EQ(unwind_tables_add(t, &cfi, &refused), -ENOSPC);
	CHECK_EQ(refused.n_pages, 0);
	CHECK_EQ(find(&refused, 0x500), -1);
	CHECK(tables_say_the_same(&first, &small));
	CHECK_EQ(unwind_tables_add(t, &small, &second), 0);
	CHECK(tables_say_the_same(&second, &small));
}

/* Two rows, so far apart: 0, or what was wrong. */
static int add_span(uint64_t bytes)
{
	struct cfi_table span = {};
	int err;

	add_row(&span, 0, 8);
	add_row(&span, bytes, 0);
	err = unwind_tables_add(t, &span, &run);
	cfi_free(&span);
	return err;
}

TEST(no_more_pages_is_told)
{
	CHECK_EQ(add_span((max_pages + 5) * PAGE), -ENOSPC);
	CHECK_EQ(run.n_pages, 0);
	CHECK_EQ(add_span(UINT32_MAX), -ENOSPC);
	CHECK_EQ(unwind_tables_size(t).n_pages, 0);
	CHECK_EQ(add_span((max_pages - 1) * PAGE - 1), 0);
	CHECK_EQ(find(&run, (max_pages - 2) * PAGE), 8);
	CHECK_EQ(unwind_tables_size(t).n_shards, 1); /* pages that are all the same share cells */
}

/* As on a host with many containers, whose images have files of their own. */
TEST(memory_for_rows_is_used_up_before_pages_are)
{
	uint64_t n_bytes = 0;

	make_anew(96);
	for (uint64_t vaddr = 0; vaddr < 64 << 20; vaddr += 256) /* few rows for code */
		add_row(&cfi, vaddr, 8 + 8 * (int)(vaddr >> 8 & 3));
	while (!unwind_tables_add(t, &cfi, &run))
		n_bytes += 64 << 20;
	CHECK_EQ(unwind_tables_size(t).n_shards, 96);
	CHECK(n_bytes > 2ULL << 30);
}

/* Rows on every byte of blocks, on their first and last ones only, and in none. */
TEST(rows_are_found_in_blocks_of_any_number_of_rows)
{
	int differences = 0;

	for (uint64_t vaddr = 0; vaddr < 0x300; vaddr++)
		add_row(&cfi, vaddr, 8 + 8 * (int)(vaddr % 200));
	add_row(&cfi, 0x400, 8);
	add_row(&cfi, 0x4ff, 16);
	add_row(&cfi, 0x9ff, 24);
	add_row(&cfi, 0xa00, 32);
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	for (uint64_t vaddr = 0; vaddr < PAGE; vaddr++)
		differences += find(&run, vaddr) != cfi_find(&cfi, vaddr).cfa_off;
	CHECK_EQ(differences, 0);
}

/* The others' are right; what has no room is known not to be, and a page more has room again. */
TEST(a_page_with_too_many_rules_says_so)
{
	struct unwind_mapping m;
	int n_bad = 0, n_right = 0;

	for (size_t i = 0; i < 700; i++)
		add_row(&cfi, 3 * i + (i < 400 ? 0 : PAGE), 8 + 8 * (int)i);
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	m = mapping_of(&run);
	for (size_t i = 0; i < cfi.count; i++) {
		struct cfi_row row = cfi_row(&cfi, i);

		n_right += find(&run, row.vaddr) == row.rule.cfa_off;
		n_bad += unwind_tables_find(t, &m, row.vaddr)->kind == UNWIND_BAD;
	}
	/* the second page begins with a copy of the first one's last rule */
	CHECK_EQ(n_right, UNWIND_PAGE_RULES - 1 + UNWIND_PAGE_RULES - 2);
	CHECK_EQ(n_right + n_bad, 700);
}

/* Returns a table of n functions of a few shapes, at all places of blocks and across borders. */
static struct cfi_table functions_of(int n)
{
	struct cfi_table made = {};
	uint64_t vaddr = 0x1000;

	for (int i = 0; i < n; i++) {
		int n_pushes = 1 + i % 3;

		for (int k = 0; k < n_pushes; k++, vaddr += 1 + i % 2)
			add_row(&made, vaddr, 8 + 8 * k);
		add_row(&made, vaddr, 64);
		vaddr += 31 + i % 7;
		add_row(&made, vaddr, 16);
		add_row(&made, vaddr + 1, 8);
		add_row(&made, vaddr + 2, 64);
		vaddr += 29;
	}
	return made;
}

/* At every byte. */
static int count_differences(void)
{
	uint64_t last = cfi_vaddr(&cfi, cfi.count - 1);
	int n = 0;

	for (uint64_t vaddr = cfi_vaddr(&cfi, 0); vaddr <= last; vaddr++)
		n += find(&run, vaddr) != cfi_find(&cfi, vaddr).cfa_off;
	return n;
}

TEST(rules_that_recur_together_are_patterns)
{
	size_t n_cells = 0;

	cfi = functions_of(5000);
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	CHECK_EQ(count_differences(), 0);
	for (uint32_t i = 0; i < run.n_pages; i++)
		n_cells += pages[i].n_cells - UNWIND_RULES_AT;
	CHECK(n_cells < cfi.count / 2);
	CHECK(unwind_tables_size(t).n_patterns >= 7);
	CHECK(unwind_tables_size(t).n_rows >= cfi.count);
}

/* In a page where patterns take the places of rules, there are none. */
TEST(patterns_give_way_to_rules)
{
	uint64_t vaddr;

	cfi = functions_of(600);
	vaddr = cfi_vaddr(&cfi, cfi.count - 1) + 100;
	for (int i = 0; i < 249; i++)
		add_row(&cfi, vaddr + 9 * i, 1000 + i);
	CHECK(vaddr + 9 * 249 < PAGE);
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	CHECK(unwind_tables_size(t).n_patterns >= 7);
	CHECK_EQ(count_differences(), 0);
	CHECK_EQ(pages[0].n_cells, UNWIND_RULES_AT + 5 + 249 + cfi.count + 1);
}

/* As after weeks: what the others say of the file is as it was. */
TEST(a_rule_too_many_is_not_followed)
{
	for (size_t i = 0; i <= UNWIND_MAX_RULES; i++) /* few for each page */
		add_row(&cfi, i << 10, (int)i + 1);
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	CHECK_EQ(find(&run, (UNWIND_MAX_RULES - 3) << 10), UNWIND_MAX_RULES - 2);
	CHECK_EQ(find(&run, (UNWIND_MAX_RULES - 2) << 10), 0); /* as UNWIND_BAD has */
	CHECK_EQ(find(&run, UNWIND_MAX_RULES << 10), 0);
	cfi.count = cfi.n_rules = 100;
	CHECK_EQ(unwind_tables_add(t, &cfi, &run), 0);
	CHECK(tables_say_the_same(&run, &cfi));
}

/* ---- real files ---- */

static bool rules_are_equal(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return a ? !memcmp(a, b, sizeof(*a)) : b->kind == UNWIND_GAP;
}

static void compare_at_random(void)
{
	uint64_t first = cfi_vaddr(&cfi, 0), last = cfi_vaddr(&cfi, cfi.count - 1), vaddr;
	struct unwind_mapping m = mapping_of(&run);
	struct unwind_rule rule;
	int differences = 0;

	for (int i = 0; i < 300000; i++) {
		vaddr = first +
			((uint64_t)random() << 20 ^ (uint64_t)random()) % (last - first + 100);
		rule = cfi_find(&cfi, vaddr);
		differences += !rules_are_equal(unwind_tables_find(t, &m, vaddr), &rule);
	}
	for (size_t i = 0; i < cfi.count; i++) {
		struct cfi_row row = cfi_row(&cfi, i);

		differences += !rules_are_equal(unwind_tables_find(t, &m, row.vaddr), &row.rule);
	}
	CHECK_EQ(differences, 0);
}

/*
 * How near the multiples d * UNWIND_RECENT_HASH come to 0, modulo 2^64: nearest, for all d up to
 * some limit, where d is the denominator of a convergent of UNWIND_RECENT_HASH / 2^64.
 */
TEST(no_two_addresses_of_a_slice_are_taken_for_each_other)
{
	unsigned __int128 a = UNWIND_RECENT_HASH, b = (unsigned __int128)1 << 64, rest;
	uint64_t before = 1, d = 0, next, multiple;
	int n = 0;

	for (;; a = b, b = rest, before = d, d = next) {
		next = before + (uint64_t)(a / b) * d;
		rest = a % b;
		if (next >= 1ULL << 48)
			break;
		multiple = next * UNWIND_RECENT_HASH;
		CHECK(next == 0 || multiple >> UNWIND_RULE_BITS);
		CHECK(next == 0 || -multiple >> UNWIND_RULE_BITS);
		n++;
	}
	CHECK(n > 30);
}

/* Together, as they are in a run; the order is by chance in which of them fills which shard. */
TEST(real_files_tables_say_what_they_were_made_of)
{
	static const char *const paths[] = { "/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
					     "/usr/bin/python3", "/lib64/libc.so.6" };
	int n_files = 0;

	make_anew(64);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (!image_load_file(&cfi, fd) && !unwind_tables_add(t, &cfi, &run)) {
			compare_at_random();
			n_files++;
		}
		cfi_free(&cfi);
		close(fd);
	}
	if (!n_files)
		SKIP("no file with an .eh_frame");
}
