// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranges of mapped memory; see ranges.h. Ranges are in a search tree and don't overlap each other.
 * Overlapping ranges compare as equal, so a search finds a range that overlaps the key.
 */
#include <search.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/order.h"
#include "memleak/ranges.h"

struct range {
	uint64_t start, end;
	struct block block; /* reserved range: only process and generation are set */
	uint64_t time_ns;
	bool is_held;
	struct range *next, **link; /* list of all ranges, unordered */
};

struct ranges {
	void *tree;
	struct range *first;
	size_t n, max;
	uint64_t lost_bytes;
};

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->block.tgid != y->block.tgid)
		return order_u64(x->block.tgid, y->block.tgid);
	return x->end <= y->start ? -1 : x->start >= y->end;
}

static struct range *find(const struct ranges *ranges, uint32_t tgid, uint64_t start, uint64_t end)
{
	struct range key = { .start = start, .end = end, .block.tgid = tgid };
	struct range *const *found = start < end ? tfind(&key, &ranges->tree, compare) : NULL;

	return found ? *found : NULL;
}

/* Removes a range from the tree; the caller owns it then. */
static struct range *take(struct ranges *ranges, struct range *r)
{
	tdelete(r, &ranges->tree, compare);
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	ranges->n--;
	return r;
}

static void put(struct ranges *ranges, struct range *r)
{
	mem_check(tsearch(r, &ranges->tree, compare));
	r->next = ranges->first;
	r->link = &ranges->first;
	if (r->next)
		r->next->link = &r->next;
	ranges->first = r;
	ranges->n++;
}

static void put_part(struct ranges *ranges, const struct range *of, uint64_t start, uint64_t end)
{
	struct range *r;

	if (start >= end)
		return;
	r = mem_zalloc(1, sizeof(*r));
	*r = *of;
	r->start = start;
	r->end = end;
	put(ranges, r);
}

/* Adds a range to a list of ranges outside of the tree. */
static void push(struct range **list, struct range *r)
{
	r->next = *list;
	*list = r;
}

static struct range *pop(struct range **list)
{
	struct range *r = *list;

	if (r)
		*list = r->next;
	return r;
}

static bool is_affected(const struct range *r, const struct memleak_range *change)
{
	switch (change->change) {
	case RANGE_OPENED:
		return !r->is_held &&
		       block_generation(&r->block) == block_generation(&change->block);
	case RANGE_CLOSED:
		return r->is_held;
	case RANGE_MOVED:
		return r->time_ns < change->began_ns;
	default:
		return true;
	}
}

/* Removes and returns affected parts between two addresses; the rest of their ranges remains. */
static struct range *cut(struct ranges *ranges, const struct memleak_range *change, uint64_t start,
			 uint64_t end)
{
	struct range *affected = NULL, *others = NULL, *r;

	while ((r = find(ranges, change->block.tgid, start, end))) {
		take(ranges, r);
		if (!is_affected(r, change)) {
			push(&others, r);
			continue;
		}
		put_part(ranges, r, r->start, start);
		put_part(ranges, r, end, r->end);
		r->start = r->start < start ? start : r->start;
		r->end = r->end > end ? end : r->end;
		push(&affected, r);
	}
	while ((r = pop(&others)))
		put(ranges, r);
	return affected;
}

static void discard(struct range *list)
{
	for (struct range *r; (r = pop(&list));)
		free(r);
}

/* Adds a reserved range, merged with reserved neighbours. */
static void reserve(struct ranges *ranges, const struct memleak_range *change, uint64_t start,
		    uint64_t end)
{
	struct range r = { .start = start, .end = end, .block = change->block };
	struct range *before = find(ranges, r.block.tgid, start - 1, start);
	struct range *after = find(ranges, r.block.tgid, end, end + 1);

	r.time_ns = change->time_ns;
	if (before && !before->is_held) {
		r.start = before->start;
		free(take(ranges, before));
	}
	if (after && !after->is_held) {
		r.end = after->end;
		free(take(ranges, after));
	}
	put_part(ranges, &r, r.start, r.end);
}

static void hold(struct ranges *ranges, const struct memleak_range *change, uint64_t start,
		 uint64_t end)
{
	struct range r = { .block = change->block, .time_ns = change->time_ns, .is_held = true };

	if (!change->keeps)
		return;
	if (ranges->n < ranges->max)
		put_part(ranges, &r, start, end);
	else
		ranges->lost_bytes += end - start;
}

/* Handles mprotect(). */
static void change_access(struct ranges *ranges, const struct memleak_range *change)
{
	struct range *affected = cut(ranges, change, change->addr, change->addr + change->bytes);

	for (const struct range *r = affected; r; r = r->next) {
		if (change->change == RANGE_OPENED)
			hold(ranges, change, r->start, r->end);
		else
			reserve(ranges, change, r->start, r->end);
	}
	discard(affected);
}

static void unmap(struct ranges *ranges, uint32_t tgid, uint64_t start, uint64_t end)
{
	struct memleak_range gone = { .change = RANGE_GONE, .block.tgid = tgid };

	discard(cut(ranges, &gone, start, end));
}

/* Handles mmap() and munmap(). */
static void map(struct ranges *ranges, const struct memleak_range *change)
{
	uint64_t start = change->addr, end = start + change->bytes;

	unmap(ranges, change->block.tgid, start, end);
	if (change->change == RANGE_RESERVED)
		reserve(ranges, change, start, end);
	else if (change->change == RANGE_HELD)
		hold(ranges, change, start, end);
}

/* Moves a part of the old range; its last part extends to the end of a longer new range. */
static void move_part(struct ranges *ranges, const struct memleak_range *change,
		      const struct range *part)
{
	uint64_t old_end = change->old_addr + change->old_bytes, end = change->addr + change->bytes;
	uint64_t from = change->addr + (part->start - change->old_addr);
	uint64_t to = change->addr + (part->end - change->old_addr);

	if (to > end || part->end == old_end)
		to = end;
	if (from >= to)
		return;
	if (part->is_held)
		hold(ranges, change, from, to);
	else
		reserve(ranges, change, from, to);
}

/* Moves the old range; all of it gets its first part's state if newer ranges hide the rest. */
static void move_parts(struct ranges *ranges, const struct memleak_range *change,
		       const struct range *old)
{
	uint64_t start = change->old_addr, end = start + change->old_bytes;
	bool is_whole = !find(ranges, change->block.tgid, start, end);
	struct range all = { .start = start, .end = end, .is_held = !old || old->is_held };

	unmap(ranges, change->block.tgid, change->addr, change->addr + change->bytes);
	if (!old || !is_whole)
		move_part(ranges, change, &all);
	else
		for (const struct range *r = old; r; r = r->next)
			move_part(ranges, change, r);
}

/* Handles mremap(). A range that only shrinks retains its stack. */
static void move(struct ranges *ranges, const struct memleak_range *change)
{
	uint64_t start = change->old_addr, end = start + change->old_bytes;
	bool stays = change->addr == start && change->bytes <= change->old_bytes;
	struct range *old = cut(ranges, change, stays ? start + change->bytes : start, end);

	if (!stays)
		move_parts(ranges, change, old);
	discard(old);
}

void ranges_change(struct ranges *ranges, const struct memleak_range *change)
{
	if (change->addr + change->bytes < change->addr ||
	    change->old_addr + change->old_bytes < change->old_addr)
		return;
	if (change->change == RANGE_OPENED || change->change == RANGE_CLOSED)
		change_access(ranges, change);
	else if (change->change == RANGE_MOVED)
		move(ranges, change);
	else
		map(ranges, change);
}

uint64_t ranges_lost(const struct ranges *ranges)
{
	return ranges->lost_bytes;
}

static bool visit_range(const struct range *r,
			bool (*visit)(uint64_t addr, const struct block *block, void *arg),
			bool (*is_kept)(const struct block *block, void *arg), void *arg)
{
	struct block block = r->block;

	if (!r->is_held)
		return is_kept(&block, arg);
	block.size_generation = block_pack(r->end - r->start, block_generation(&r->block));
	return visit(r->start, &block, arg);
}

void ranges_visit(struct ranges *ranges,
		  bool (*visit)(uint64_t addr, const struct block *block, void *arg),
		  bool (*is_kept)(const struct block *block, void *arg), void *arg)
{
	for (struct range *r = ranges->first, *next; r; r = next) {
		next = r->next;
		if (!visit_range(r, visit, is_kept, arg))
			free(take(ranges, r));
	}
}

struct ranges *ranges_new(size_t max)
{
	struct ranges *ranges = mem_zalloc(1, sizeof(*ranges));

	ranges->max = max;
	return ranges;
}

void ranges_free(struct ranges *ranges)
{
	if (!ranges)
		return;
	while (ranges->first)
		free(take(ranges, ranges->first));
	free(ranges);
}
