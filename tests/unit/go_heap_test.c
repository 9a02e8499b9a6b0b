// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Go runtime's heap profile as another process reads it: lists of buckets in this process's own
 * memory, as each release has them, and lists that lie.
 */
#include "runtimes/go/heap.h"
#include "unit.h"

#define OBJECT	   512
#define N_BUCKETS  3
#define BUCKET_MAX 64 /* words */

/* Memory of a runtime: a list, whose buckets have one address of a stack each. */
static struct {
	uint64_t buckets[N_BUCKETS][BUCKET_MAX];
	uint64_t head, rate;
	uint32_t cycle;
} memory;

static struct go_program program;
static struct go_heap heap;

static unsigned int count_words(void)
{
	return program.release < 27 ? 4 : 2;
}

/* Sets count i of a bucket: 0 active, then the three future ones. */
static void set_count(size_t bucket, size_t i, uint64_t allocs, uint64_t frees)
{
	uint64_t *count = memory.buckets[bucket] + 7 + i * count_words();

	count[0] = allocs;
	count[1] = frees;
	if (count_words() < 4)
		return;
	count[2] = allocs * OBJECT;
	count[3] = frees * OBJECT;
}

static void begin(unsigned int release)
{
	program = (struct go_program){ .pid = getpid(), .release = release };
	memset(&memory, 0, sizeof(memory));
	program.variables[GO_MBUCKETS] = address_of(&memory.head);
	program.variables[GO_CYCLE] = address_of(&memory.cycle);
	program.variables[GO_RATE] = address_of(&memory.rate);
	memory.rate = 1;
	memory.head = address_of(memory.buckets[0]);
	for (size_t i = 0; i < N_BUCKETS; i++) {
		uint64_t *b = memory.buckets[i];

		b[1] = i + 1 < N_BUCKETS ? address_of(memory.buckets[i + 1]) : 0;
		b[2] = 1;
		b[4] = OBJECT;
		b[5] = 1;
		b[6] = 0x1000 + i;
	}
}

AFTER_EACH()
{
	go_heap_free(&heap);
}

static int read_heap_until(uint64_t end_ns)
{
	go_heap_free(&heap);
	return go_heap_read(&program, end_ns, &heap);
}

static int read_heap(void)
{
	return read_heap_until(UINT64_MAX);
}

static uint64_t live(size_t i)
{
	return heap.records[i].allocs - heap.records[i].frees;
}

/* Since Go 1.19 the cycle's number is shifted by one bit. */
TEST(profile_is_what_the_last_but_one_collection_found)
{
	static const unsigned int releases[] = { 15, 18, 19, 24, 26, 27 };

	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		begin(releases[i]);
		memory.cycle = releases[i] < 19 ? 4 : 4 << 1 | 1;
		set_count(0, 0, 10, 4);
		set_count(0, 1 + 4 % 3, 3, 1);
		set_count(0, 1 + 5 % 3, 100, 0);
		set_count(0, 1 + 6 % 3, 1000, 0);
		CHECK_EQ(read_heap(), 0);
		CHECK_EQ(heap.n, N_BUCKETS);
		CHECK_EQ(live(0), 8);
		CHECK_EQ(live(1), 0);
		CHECK_EQ(heap.words[heap.records[2].at], 0x1002);
	}
}

TEST(before_the_first_collection_all_counts_belong_to_it)
{
	begin(24);
	set_count(1, 2, 5, 0);
	set_count(1, 3, 7, 0);
	CHECK_EQ(read_heap(), 0);
	CHECK_EQ(live(1), 12);
}

TEST(record_may_have_no_stack)
{
	begin(24);
	memory.buckets[0][5] = 0;
	memmove(memory.buckets[0] + 6, memory.buckets[0] + 7, 16 * sizeof(uint64_t));
	CHECK_EQ(read_heap(), 0);
	CHECK_EQ(heap.records[0].n, 0);
	CHECK_EQ(heap.n, N_BUCKETS);
}

TEST(empty_profile_has_no_records)
{
	begin(24);
	memory.head = 0;
	CHECK_EQ(read_heap(), 0);
	CHECK_EQ(heap.n, 0);
}

TEST(objects_stand_for_others_by_their_size)
{
	begin(24);
	memory.rate = 524288;
	CHECK_EQ(read_heap(), 0);
	CHECK_EQ((int)(go_heap_scale(&heap, 524288) * 1000), 1581); /* 1 / (1 - 1/e) */
	CHECK_EQ((int)go_heap_scale(&heap, 16), 32768);
	CHECK_EQ((int)(go_heap_scale(&heap, 1ULL << 40) * 1000), 1000);
}

TEST(absent_profile_has_a_reason)
{
	begin(24);
	CHECK(!go_heap_why_none(&program));
	memory.rate = 0;
	CHECK_HAS(go_heap_why_none(&program), "linked without");
	program.functions[GO_READ_PROFILE].end = 1;
	CHECK_HAS(go_heap_why_none(&program), "MemProfileRate");
	CHECK_EQ(read_heap(), -ENODATA);
	program.variables[GO_CYCLE] = 0;
	CHECK_HAS(go_heap_why_none(&program), "not found");
	program.release = 99;
	CHECK_HAS(go_heap_why_none(&program), "unknown");
	CHECK_EQ(read_heap(), -ENODATA);
}

/* A process that lies gets an error, in bounded time and memory. */
TEST(lies_are_refused)
{
	static const struct {
		const char *name;
		size_t word;
		uint64_t value;
		int err;
	} cases[] = {
		{ "another type", 2, 2, -EINVAL },
		{ "no size", 4, 0, -EINVAL },
		{ "an endless size", 4, 1ULL << 60, -EINVAL },
		{ "an endless stack", 5, 1ULL << 60, -EINVAL },
		{ "a long stack", 5, 1101, -EINVAL },
		{ "a list into nothing", 1, 0x1000, -EFAULT },
		{ "a list into the kernel", 1, ~7ULL, -EFAULT },
		{ "a crooked pointer", 1, 0x1001, -EFAULT },
		{ "bytes that are not the objects'", 9, 1, -EAGAIN },
		{ "more frees than allocations", 8, 5, -EAGAIN },
		{ "an endless count", 7, 1ULL << 60, -EAGAIN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(24);
		memory.buckets[1][cases[i].word] = cases[i].value;
		CHECK_CASE(cases[i].name, read_heap(), cases[i].err);
	}
}

TEST(list_without_an_end_ends)
{
	begin(24);
	memory.buckets[N_BUCKETS - 1][1] = memory.head;
	CHECK(read_heap() < 0);
	CHECK_EQ(read_heap_until(1), -ETIMEDOUT);
}

TEST(gone_process_is_unreadable)
{
	begin(24);
	program.pid = 1 << 30;
	CHECK_EQ(read_heap(), -EFAULT);
}
