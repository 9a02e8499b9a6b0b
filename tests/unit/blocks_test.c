// SPDX-License-Identifier: GPL-2.0-only
/* The table of live blocks: the very code of the BPF side, with threads in place of CPUs. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "abi/block.h"
#include "memleak/blocks.h"

static struct block_bucket *table;
static __u64 n_buckets;

static struct block_bucket *blocks_bucket(__u64 index)
{
	return index < n_buckets ? &table[index] : NULL;
}

static __u64 blocks_mask(void)
{
	return n_buckets - 1;
}

#include "abi/block_table.h"
#include "child.h"
#include "unit.h"

static void make_table(size_t n_blocks)
{
	free(table);
	n_buckets = blocks_buckets_for(n_blocks);
	table = calloc(n_buckets, sizeof(*table));
}

/* As an allocator lays blocks out. */
static __u64 addr_of(__u64 i)
{
	return 0x55d000000010ULL + i * 32;
}

static bool add(__u64 addr, __u32 tgid, __u64 size)
{
	struct block block = { .tgid = tgid };

	return blocks_add(addr, 7, block_pack(size, 3), block.tgid_time);
}

static bool take(__u64 addr, __u32 tgid)
{
	__u64 place = blocks_find(addr, tgid);

	return place && blocks_remove(place, addr);
}

struct tally {
	uint64_t blocks, bytes;
};

static bool tally_block(uint64_t addr, const struct block *block, void *arg)
{
	struct tally *tally = arg;

	(void)addr;
	tally->blocks++;
	tally->bytes += block_size(block);
	return true;
}

static struct tally tally_all(void)
{
	struct tally tally = {};

	blocks_visit(table, n_buckets, tally_block, &tally);
	return tally;
}

TEST(a_table_is_as_large_as_the_memory_allows)
{
	size_t n = blocks_buckets_for(1400000);

	CHECK(n * sizeof(struct block_bucket) <= 64 << 20);
	CHECK_EQ(blocks_buckets_within(n, 64 << 20), n);
	CHECK_EQ(blocks_buckets_within(n, (64 << 20) - 1), n / 2);
	CHECK_EQ(blocks_buckets_within(n, 15 << 20) * sizeof(struct block_bucket), 8 << 20);
	CHECK_EQ(blocks_buckets_within(n, 0), 1);
	CHECK(blocks_in_buckets(n) >= 1400000 && blocks_in_buckets(n / 2) < 1400000);
}

TEST(a_block_is_there_until_it_is_taken)
{
	make_table(100);
	CHECK(add(addr_of(1), 42, 17));
	CHECK(blocks_find(addr_of(1), 42));
	CHECK(!blocks_find(addr_of(2), 42));
	CHECK_EQ(tally_all().bytes, 17);
	CHECK(take(addr_of(1), 42));
	CHECK(!take(addr_of(1), 42));
	CHECK_EQ(tally_all().blocks, 0);
}

TEST(processes_have_addresses_of_their_own)
{
	make_table(100);
	CHECK(add(addr_of(1), 42, 17));
	CHECK(add(addr_of(1), 43, 19));
	CHECK(take(addr_of(1), 42));
	CHECK_EQ(tally_all().bytes, 19);
}

TEST(an_address_that_is_given_out_again_has_been_freed)
{
	make_table(100);
	CHECK(add(addr_of(1), 42, 17));
	CHECK(add(addr_of(1), 42, 19));
	CHECK_EQ(tally_all().blocks, 1);
	CHECK_EQ(tally_all().bytes, 19);
}

TEST(size_and_generation_share_a_word)
{
	struct block block = { .size_generation = block_pack(1ULL << 40, 0xffff) };

	CHECK_EQ(block_size(&block), 1ULL << 40);
	CHECK_EQ(block_generation(&block), 0xffff);
	block.size_generation = block_pack(~0ULL, 1);
	CHECK_EQ(block_size(&block), BLOCK_MAX_BYTES);
	CHECK_EQ(block_generation(&block), 1);
}

TEST(generations_follow_each_other_also_when_they_wrap)
{
	struct block block = { .size_generation = block_pack(1, 3) };

	CHECK(block_is_younger(&block, 2));
	CHECK(!block_is_younger(&block, 3));
	CHECK(!block_is_younger(&block, 4));
	CHECK(block_is_younger(&block, 0xffff));
}

/* How many blocks find no place, of as many as have to: of those at addresses that far apart. */
static size_t fill(size_t step, __u32 sample)
{
	size_t n, failed = 0;
	__u64 addr = 0x7f0000000010ULL;

	make_table(1);
	n_buckets = 1 << 14;
	table = mem_realloc(table, n_buckets, sizeof(*table));
	memset(table, 0, n_buckets * sizeof(*table));
	n = n_buckets * BLOCK_WAYS * BLOCKS_FILL_PERCENT / 100;
	for (size_t i = 0; i < n; addr += step)
		if (blocks_are_sampled(addr, sample)) {
			failed += !add(addr, 42, 1);
			i++;
		}
	return failed;
}

/* blocks_buckets_for() N blocks has space for N blocks at any addresses, also of a sample. */
TEST(as_many_as_were_asked_for_fit)
{
	static const size_t steps[] = { 16, 24, 32, 48, 64, 96, 256, 1024, 4096 };
	static const __u32 samples[] = { 1, 2, 3, 10, 16, 100, 1024 };

	for (size_t s = 0; s < ARRAY_SIZE(samples); s++)
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
			CHECK_EQ(fill(steps[i], samples[s]), 0);
}

/* The requested share of any addresses is sampled. */
TEST(a_sample_is_a_share_of_all_addresses)
{
	static const __u32 samples[] = { 2, 3, 10, 16, 100, 1024 };

	for (size_t s = 0; s < ARRAY_SIZE(samples); s++)
		for (size_t step = 16; step <= 4096; step *= 4) {
			size_t n = 0, expected = 1000000 / samples[s];

			for (size_t i = 0; i < 1000000; i++)
				n += blocks_are_sampled(0x7f0000000010ULL + i * step, samples[s]);
			CHECK(n > expected - expected / 5 && n < expected + expected / 5);
		}
}

TEST(a_full_table_says_so)
{
	size_t kept = 0;

	make_table(1);
	for (size_t i = 0; i < 100; i++)
		kept += add(addr_of(i), 42, 1);
	CHECK_EQ(kept, BLOCK_WAYS);
	CHECK_EQ(tally_all().blocks, BLOCK_WAYS);
}

#define THREADS 4
#define ROUNDS	50000
#define LIVE	128

/* Each has its own addresses, as threads have that an allocator serves; the buckets are shared. */
static void *churn(void *arg)
{
	__u64 base = (__u64)(uintptr_t)arg * LIVE;

	for (__u64 i = 0; i < ROUNDS; i++) {
		__u64 addr = addr_of(base + i * 7 % LIVE);

		if (!take(addr, 42) && !add(addr, 42, 5))
			return (void *)1;
	}
	for (__u64 i = 0; i < LIVE; i++)
		take(addr_of(base + i), 42);
	return add(addr_of(base), 42, 11) ? NULL : (void *)1;
}

TEST(threads_do_not_lose_blocks)
{
	pthread_t threads[THREADS];
	void *failed;

	make_table(THREADS * LIVE * 2);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, churn, (void *)i);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &failed);
		CHECK(!failed);
	}
	CHECK_EQ(tally_all().blocks, THREADS);
	CHECK_EQ(tally_all().bytes, THREADS * 11);
}

/* The first access to the fields, which have a page of their own, replaces the block before it. */
static void replace_block(int number, siginfo_t *info, void *context)
{
	void *page = (void *)((uintptr_t)info->si_addr & -(uintptr_t)getpagesize());

	(void)number;
	(void)context;
	if (mprotect(page, (size_t)getpagesize(), PROT_READ | PROT_WRITE))
		_exit(1);
	take(addr_of(0), 42);
	add(addr_of(1), 42, 11);
}

TEST_APART(a_block_that_changes_while_it_is_read_is_not_mixed)
{
	const struct sigaction action = { .sa_sigaction = replace_block, .sa_flags = SA_SIGINFO };
	size_t page = (size_t)getpagesize();
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	table = (void *)(pages + page - offsetof(struct block_bucket, blocks));
	n_buckets = 1;
	add(addr_of(0), 42, 5);
	mprotect(pages + page, page, PROT_NONE);
	sigaction(SIGSEGV, &action, NULL);
	CHECK_EQ(tally_all().blocks, 0);
	CHECK_EQ(tally_all().bytes, 11);
}

static bool drop_odd(uint64_t addr, const struct block *block, void *arg)
{
	(void)block;
	(void)arg;
	return addr / 32 % 2;
}

TEST(a_visitor_can_give_places_back)
{
	make_table(100);
	for (size_t i = 0; i < 50; i++)
		add(addr_of(i), 42, 1);
	blocks_visit(table, n_buckets, drop_odd, NULL);
	CHECK_EQ(tally_all().blocks, 25);
}

TEST(ages_survive_a_wrap)
{
	struct block block = { .time = 0xfffffff0 };
	uint64_t now_ns = (0x100000000ULL + 0x10) << BLOCK_TIME_SHIFT;

	CHECK_EQ(block_age_ms(&block, now_ns), (0x20ULL << BLOCK_TIME_SHIFT) / NS_PER_MS);
	block.time = 0x11; /* younger than the clock that was read before */
	CHECK_EQ(block_age_ms(&block, now_ns), 0);
	block.time = 0x20000; /* 52 days before */
	CHECK_EQ(block_age_ms(&block, now_ns), (0xfffe0010ULL << BLOCK_TIME_SHIFT) / NS_PER_MS);
}

static void add_to(struct block_sums *sums, __u64 stack_id, __u32 tgid, __u64 size, __u32 time)
{
	struct block block = { .stack_id = stack_id, .size_generation = block_pack(size, 0) };

	block.tgid = tgid;
	block.time = time;
	block_sums_add(sums, &block, 100ULL << BLOCK_TIME_SHIFT);
}

TEST(sums_are_by_stack)
{
	struct block_sums sums = {};

	add_to(&sums, 1, 42, 10, 100);
	add_to(&sums, 2, 42, 25, 50);
	add_to(&sums, 1, 42, 10, 0);
	add_to(&sums, 0, 42, 1, 0); /* without a stack, by process */
	add_to(&sums, 0, 43, 1, 0);
	block_sums_sort(&sums, false);
	CHECK_EQ(sums.count, 4);
	CHECK_EQ(sums.items[0]->bytes, 25);
	CHECK_EQ(sums.items[1]->bytes, 20);
	CHECK_EQ(sums.items[1]->youngest_ms, 0);
	CHECK_EQ(sums.items[1]->oldest_ms, (100ULL << BLOCK_TIME_SHIFT) / NS_PER_MS);
	block_sums_sort(&sums, true);
	CHECK_EQ(sums.items[0]->bytes, 20);
	block_sums_clear(&sums);
}
