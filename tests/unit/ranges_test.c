// SPDX-License-Identifier: GPL-2.0-only
/* Ranges of mapped memory against a plain array with the state of each page. */
#include "memleak/ranges.h"
#include "unit.h"

#define N_PAGES	   97
#define PAGE	   4096ULL
#define BASE	   0x7f0000000000ULL
#define RESERVED   UINT64_MAX
#define GENERATION 3

/* The stack that holds each page; 0: none does. */
struct model {
	struct ranges *ranges;
	uint64_t pages[N_PAGES], time;
};

static struct model model;

static struct memleak_range change_at(uint32_t change, size_t first, size_t n, uint64_t stack_id)
{
	return (struct memleak_range){
		.addr = BASE + first * PAGE,
		.bytes = n * PAGE,
		.time_ns = ++model.time,
		.change = change,
		.keeps = stack_id != 0,
		.block = { .stack_id = stack_id,
			   .tgid = 7,
			   .size_generation = block_pack(0, GENERATION) },
	};
}

static uint64_t page_after(uint64_t page, uint32_t change, uint64_t stack_id)
{
	switch (change) {
	case RANGE_HELD:
		return stack_id;
	case RANGE_RESERVED:
		return RESERVED;
	case RANGE_OPENED:
		return page == RESERVED ? stack_id : page;
	case RANGE_CLOSED:
		return page ? RESERVED : 0;
	default:
		return 0;
	}
}

static void apply(uint32_t change, size_t first, size_t n, uint64_t stack_id)
{
	struct memleak_range c = change_at(change, first, n, stack_id);

	for (size_t i = first; i < first + n; i++)
		model.pages[i] = page_after(model.pages[i], change, stack_id);
	ranges_change(model.ranges, &c);
}

/* Pages that are not known any more where they come from are held, if all of them are so. */
static void apply_move(size_t from, size_t n, size_t to, uint64_t stack_id)
{
	struct memleak_range c = change_at(RANGE_MOVED, to, n, stack_id);
	uint64_t moved[N_PAGES];
	bool is_known = false;

	c.old_addr = BASE + from * PAGE;
	c.old_bytes = n * PAGE;
	c.began_ns = model.time;
	for (size_t i = 0; i < n; i++) {
		moved[i] = model.pages[from + i];
		is_known |= moved[i] != 0;
		model.pages[from + i] = 0;
	}
	for (size_t i = 0; i < n; i++)
		model.pages[to + i] =
			is_known && (!moved[i] || moved[i] == RESERVED) ? moved[i] : stack_id;
	ranges_change(model.ranges, &c);
}

/* In its place. */
static void resize(size_t first, size_t n, size_t n_now, uint64_t stack_id)
{
	struct memleak_range c = change_at(RANGE_MOVED, first, n_now, stack_id);
	uint64_t last = model.pages[first + n - 1];

	c.old_addr = BASE + first * PAGE;
	c.old_bytes = n * PAGE;
	c.began_ns = model.time;
	for (size_t i = first; i < first + (n > n_now ? n : n_now); i++) {
		if (i >= first + n_now)
			model.pages[i] = 0;
		else if (n_now > n)
			model.pages[i] = last == RESERVED ? last : stack_id;
	}
	ranges_change(model.ranges, &c);
}

struct seen {
	uint64_t pages[N_PAGES];
	size_t n, n_reserved;
};

static bool see(uint64_t addr, const struct block *block, void *arg)
{
	struct seen *seen = arg;

	CHECK_EQ(block_generation(block), GENERATION);
	for (uint64_t i = 0; i < block_size(block) / PAGE; i++) {
		CHECK_EQ(seen->pages[(addr - BASE) / PAGE + i], 0);
		seen->pages[(addr - BASE) / PAGE + i] = block->stack_id;
	}
	seen->n++;
	return true;
}

static bool see_reserved(const struct block *block, void *arg)
{
	(void)block;
	((struct seen *)arg)->n_reserved++;
	return true;
}

static struct seen look(void)
{
	struct seen seen = {};

	ranges_visit(model.ranges, see, see_reserved, &seen);
	for (size_t i = 0; i < N_PAGES; i++)
		CHECK_EQ(seen.pages[i], model.pages[i] == RESERVED ? 0 : model.pages[i]);
	return seen;
}

BEFORE_EACH()
{
	model = (struct model){ .ranges = ranges_new(1000) };
}

AFTER_EACH()
{
	ranges_free(model.ranges);
}

TEST(each_page_is_what_the_last_call_made_of_it)
{
	srand(38);
	for (uint64_t i = 1; i < 20000; i++) {
		size_t most = rand() % 2 ? N_PAGES : 4,
		       first = (size_t)rand() % (N_PAGES - most + 1);
		size_t n = (size_t)rand() % most + 1, to = (size_t)rand() % (N_PAGES - n + 1);
		uint32_t change = (uint32_t)rand() % (RANGE_MOVED + 1);

		if (change != RANGE_MOVED)
			apply(change, first, n, rand() % 4 ? i : 0);
		else if (to + n <= first || first + n <= to)
			apply_move(first, n, to, i);
		if (i % 16 == 0)
			look();
	}
	apply(RANGE_GONE, 0, N_PAGES, 0);
	CHECK_EQ(look().n_reserved, 0);
}

/* Code that is made at run time: it is opened and closed all the time. */
TEST(what_changes_nothing_cuts_nothing)
{
	apply(RANGE_HELD, 0, N_PAGES, 1);
	for (size_t i = 0; i + 1 < N_PAGES; i++)
		apply(RANGE_OPENED, i, 1, 2);
	CHECK_EQ(look().n, 1);
	apply(RANGE_RESERVED, 0, N_PAGES, 0);
	for (size_t i = 0; i < N_PAGES; i += 2)
		apply(RANGE_OPENED, i, 1, 3);
	for (size_t i = 0; i < N_PAGES; i += 2)
		apply(RANGE_CLOSED, i, 1, 0);
	CHECK_EQ(look().n_reserved, 1);
}

TEST(a_mapping_that_shrinks_stays_whose_it_was)
{
	apply(RANGE_HELD, 0, 3, 1);
	apply(RANGE_RESERVED, 3, 3, 0);
	apply(RANGE_HELD, 6, 3, 2);
	resize(0, 9, 7, 5);
	look();
	resize(6, 1, 4, 5);
	look();
	resize(4, 2, 5, 6);
	look();
}

/* The kernel has given the old range to another thread before the call returned. */
TEST(what_came_to_the_old_place_meanwhile_stays)
{
	struct memleak_range moved;

	apply(RANGE_HELD, 0, 4, 1);
	moved = change_at(RANGE_MOVED, 10, 4, 2);
	moved.old_addr = BASE;
	moved.old_bytes = 4 * PAGE;
	moved.began_ns = model.time;
	apply(RANGE_HELD, 0, 2, 3);
	ranges_change(model.ranges, &moved);
	for (size_t i = 2; i < 4; i++)
		model.pages[i] = 0;
	for (size_t i = 10; i < 14; i++)
		model.pages[i] = 2;
	look();
}

TEST(processes_and_programs_are_apart)
{
	struct memleak_range other = change_at(RANGE_GONE, 0, N_PAGES, 0);

	apply(RANGE_HELD, 0, 4, 1);
	other.block.tgid = 8;
	ranges_change(model.ranges, &other);
	look();
	apply(RANGE_RESERVED, 4, 4, 0);
	other = change_at(RANGE_OPENED, 0, N_PAGES, 5);
	other.block.size_generation = block_pack(0, GENERATION + 1);
	ranges_change(model.ranges, &other);
	look();
}

TEST(what_has_no_room_is_counted)
{
	ranges_free(model.ranges);
	model.ranges = ranges_new(2);
	apply(RANGE_HELD, 0, 1, 1);
	apply(RANGE_HELD, 2, 1, 1);
	CHECK_EQ(ranges_lost(model.ranges), 0);
	apply(RANGE_HELD, 4, 2, 1);
	CHECK_EQ(ranges_lost(model.ranges), 2 * PAGE);
	model.pages[4] = model.pages[5] = 0;
	look();
}

static bool drop(uint64_t addr, const struct block *block, void *arg)
{
	(void)addr;
	(void)block;
	(void)arg;
	return false;
}

static bool drop_reserved(const struct block *block, void *arg)
{
	return drop(0, block, arg);
}

TEST(what_is_not_needed_any_more_is_removed)
{
	struct seen seen = {};

	apply(RANGE_HELD, 0, 4, 1);
	apply(RANGE_RESERVED, 4, 4, 0);
	ranges_visit(model.ranges, drop, drop_reserved, NULL);
	ranges_visit(model.ranges, see, see_reserved, &seen);
	CHECK_EQ(seen.n + seen.n_reserved, 0);
}
