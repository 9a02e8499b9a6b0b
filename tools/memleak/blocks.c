// SPDX-License-Identifier: GPL-2.0-only
/* Reading the table of live blocks; see blocks.h. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "memleak/blocks.h"

#define YOUNGER_MAX ((60 * NS_PER_S) >> BLOCK_TIME_SHIFT) /* maximum lead of newer blocks */

size_t blocks_buckets_for(size_t n_blocks)
{
	size_t n = 1;

	while (blocks_in_buckets(n) < n_blocks)
		n *= 2;
	return n;
}

size_t blocks_buckets_within(size_t n_buckets, uint64_t max_bytes)
{
	while (n_buckets > 1 && n_buckets * sizeof(struct block_bucket) > max_bytes)
		n_buckets /= 2;
	return n_buckets;
}

/* ---- single blocks ---- */

/* Reads a cell. Returns false if it is empty, or changes during the read. */
static bool read_block(const struct block_bucket *b, size_t i, uint64_t *addr, struct block *block)
{
	*addr = __atomic_load_n(&b->addrs[i], __ATOMIC_ACQUIRE);
	if (!*addr || *addr == BLOCK_CLAIMED)
		return false;
	*block = b->blocks[i];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&b->addrs[i], __ATOMIC_RELAXED) == *addr;
}

void blocks_visit(struct block_bucket *buckets, size_t n_buckets,
		  bool (*visit)(uint64_t addr, const struct block *block, void *arg), void *arg)
{
	struct block block;
	uint64_t addr;

	for (size_t n = 0; n < n_buckets; n++)
		for (size_t i = 0; i < BLOCK_WAYS; i++)
			if (read_block(&buckets[n], i, &addr, &block) && !visit(addr, &block, arg))
				__sync_bool_compare_and_swap(&buckets[n].addrs[i], addr, 0);
}

/*
 * Returns the age, from 32-bit times that wrap after 52 days. The clock is read before the table,
 * so a block may be newer than now_ns: age 0.
 */
uint64_t block_age_ms(const struct block *block, uint64_t now_ns)
{
	uint32_t age = (uint32_t)(now_ns >> BLOCK_TIME_SHIFT) - block->time;
	uint32_t younger = -age;

	return younger < YOUNGER_MAX ? 0 : ((uint64_t)age << BLOCK_TIME_SHIFT) / NS_PER_MS;
}

/* ---- by stack ---- */

void block_sums_clear(struct block_sums *sums)
{
	idmap_free(&sums->by_id, free);
	free(sums->items);
	*sums = (struct block_sums){};
}

static struct block_sum *find_sum(struct block_sums *sums, uint64_t id, uint64_t stack_id,
				  pid_t tgid)
{
	struct block_sum *sum = idmap_find(&sums->by_id, id);

	if (sum)
		return sum;
	sum = mem_zalloc(1, sizeof(*sum));
	sum->id = id;
	sum->stack_id = stack_id;
	sum->tgid = tgid;
	sum->youngest_ms = UINT64_MAX;
	idmap_add(&sums->by_id, id, sum);
	*MEM_APPEND(sums->items, sums->count, sums->cap) = sum;
	return sum;
}

/* Returns the total of a block's stack. Without a stack, that of its process. */
static struct block_sum *find_sum_of(struct block_sums *sums, const struct block *block)
{
	uint64_t id = block->stack_id ? block->stack_id : 1ULL << 63 | block->tgid;

	return find_sum(sums, id, block->stack_id, (pid_t)block->tgid);
}

void block_sums_mention(struct block_sums *sums, const struct block *block)
{
	find_sum_of(sums, block);
}

static void add_to_sum(struct block_sum *sum, const struct block_sum *more)
{
	sum->bytes += more->bytes;
	sum->count += more->count;
	sum->n_samples += more->n_samples;
	sum->alloc_bytes += more->alloc_bytes;
	sum->alloc_count += more->alloc_count;
	sum->is_sampled |= more->is_sampled;
	if (more->oldest_ms > sum->oldest_ms)
		sum->oldest_ms = more->oldest_ms;
	if (more->youngest_ms < sum->youngest_ms)
		sum->youngest_ms = more->youngest_ms;
}

const struct block_sum *block_sums_add(struct block_sums *sums, const struct block *block,
				       uint64_t now_ns)
{
	struct block_sum *sum = find_sum_of(sums, block);
	uint64_t age_ms = block_age_ms(block, now_ns);

	add_to_sum(sum, &(struct block_sum){ .bytes = block_size(block),
					     .count = 1,
					     .oldest_ms = age_ms,
					     .youngest_ms = age_ms });
	return sum;
}

void block_sums_add_sampled(struct block_sums *sums, const struct block_sum *more)
{
	struct block_sum sum = *more;

	sum.youngest_ms = UINT64_MAX;
	add_to_sum(find_sum(sums, sum.stack_id, sum.stack_id, sum.tgid), &sum);
}

void block_sums_merge(struct block_sums *sums, const struct block_sum *sum, uint64_t trace)
{
	uint64_t id = trace ^ (uint64_t)sum->tgid * 0x9e3779b97f4a7c15ULL;

	add_to_sum(find_sum(sums, id ? id : 1, trace, sum->tgid), sum);
}

static int compare_bytes(const void *a, const void *b)
{
	const struct block_sum *const *x = a, *const *y = b;
	int order = order_u64((*y)->bytes, (*x)->bytes) ?: order_u64((*y)->count, (*x)->count);

	return order ?: order_u64((*x)->id, (*y)->id);
}

static int compare_count(const void *a, const void *b)
{
	const struct block_sum *const *x = a, *const *y = b;

	return order_u64((*y)->count, (*x)->count) ?: compare_bytes(a, b);
}

void block_sums_sort(struct block_sums *sums, bool by_count)
{
	SORT(sums->items, sums->count, by_count ? compare_count : compare_bytes);
}

/* ---- growth ---- */

void growths_clear(struct growths *growths)
{
	idmap_free(&growths->by_id, free);
	*growths = (struct growths){};
}

static struct growth *find_or_add_growth(struct growths *growths, uint64_t id)
{
	struct growth *g = idmap_find(&growths->by_id, id);

	if (g)
		return g;
	g = mem_zalloc(1, sizeof(*g));
	g->id = id;
	g->interval = growths->interval - 1; /* the value was 0 */
	idmap_add(&growths->by_id, id, g);
	return g;
}

void growths_set(struct growths *growths, uint64_t id, uint64_t bytes, uint64_t count)
{
	struct growth *g = find_or_add_growth(growths, id);

	if (g->interval + 1 < growths->interval) { /* the value was 0 in between */
		g->bytes = 0;
		g->count = 0;
		g->n_rises = 0;
	}
	g->bytes_more = (int64_t)(bytes - g->bytes);
	g->count_more = (int64_t)(count - g->count);
	if (bytes > g->bytes && bytes > g->most_bytes && growths->interval > 1)
		g->n_rises++;
	else if (bytes != g->bytes)
		g->n_rises = 0;
	if (bytes > g->most_bytes)
		g->most_bytes = bytes;
	g->bytes = bytes;
	g->count = count;
	g->interval = growths->interval;
}

/* False for ids without blocks for GROWTH_INTERVALS intervals, mostly of exited processes. */
static bool is_remembered(void *value, void *arg)
{
	const struct growths *growths = arg;
	struct growth *g = value;

	if (g->interval + GROWTH_INTERVALS >= growths->interval)
		return true;
	free(g);
	return false;
}

void growths_next(struct growths *growths)
{
	growths->interval++;
	idmap_keep(&growths->by_id, is_remembered, growths);
}

const struct growth *growths_find(const struct growths *growths, uint64_t id)
{
	const struct growth *g = idmap_find(&growths->by_id, id);

	return g && g->interval == growths->interval && g->n_rises >= GROWTH_INTERVALS ? g : NULL;
}
