// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the location of threads' states, in memory of this process laid out as Python and a C
 * library have it: with struct pthread above the thread pointer (x86-64) and below it (arm64).
 */
#include "runtimes/python/python.h"
#include "unit.h"

#define PAGE_BYTES 4096
#define N_THREADS  3

/* Offsets, in bytes: Python's lists and a thread's id. */
#define FIRST_INTERPRETER 40
#define FIRST_THREAD	  16
#define NEXT_THREAD	  8
#define THREAD_ID	  152

static uint64_t runtime[16], interpreter[16], newer[16], states[N_THREADS][32];

static uint64_t address(const void *of)
{
	return (uint64_t)(uintptr_t)of;
}

/* A thread's memory: its pointer is n bytes before the end, behind which there is nothing. */
static char *make_thread(size_t n_before_end)
{
	char *pages = mmap(NULL, 4 * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED);
	CHECK_EQ(munmap(pages + 3 * PAGE_BYTES, PAGE_BYTES), 0);
	return pages + 3 * PAGE_BYTES - n_before_end;
}

static void put(char *pointer, int place, const void *what)
{
	uint64_t word = address(what);

	memcpy(pointer + place, &word, sizeof(word));
}

static void add_thread(int i, char *pointer, int32_t self_offset)
{
	states[i][THREAD_ID / 8] = address(pointer) + (uint64_t)(int64_t)self_offset;
	states[i][NEXT_THREAD / 8] = i + 1 < N_THREADS ? address(states[i + 1]) : 0;
}

static bool has_threads; /* those that were looked at last */

static int32_t find(uint32_t version, int32_t self_offset, int32_t known)
{
	const struct python_file python = {
		.version = version,
		.runtime = address(runtime) - 0x1000,
		.layout.thread_id = THREAD_ID,
		.layout.lists = { .interpreters = FIRST_INTERPRETER,
				  .threads = FIRST_THREAD,
				  .next = NEXT_THREAD },
	};
	const struct python_process process = { getpid(), &python, 0x1000, self_offset };

	return python_place_find(&process, known, &has_threads);
}

/* Each thread's state at both places, but for one that has it at the first only. */
static void make_threads(size_t n_before_end, int32_t self_offset, int place, int other)
{
	runtime[FIRST_INTERPRETER / 8] = address(interpreter);
	interpreter[FIRST_THREAD / 8] = address(states[0]);
	for (int i = 0; i < N_THREADS; i++) {
		char *pointer = make_thread(n_before_end);

		add_thread(i, pointer, self_offset);
		put(pointer, place, states[i]);
		if (i)
			put(pointer, other, states[i]);
	}
}

/* Values: what pthread_setspecific() sets. The page behind what is above may be missing. */
TEST(values_and_variables_lie_above_or_below_the_thread_pointer)
{
	static const struct {
		size_t before_end;
		uint32_t version; /* 3.15 has variables */
		int self_offset, place, other;
	} cases[] = {
		{ 2304, 0x030b02f0, 0, 792, -40 },
		{ 256, 0x030b02f0, -1856, -1568, 40 },
		{ 256, 0x030e02f0, -1856, -1568, 40 },
		{ 2304, 0x030f02f0, 0, -40, -48 },
		{ 256, 0x030f02f0, -1856, 48, 64 },
		{ PAGE_BYTES + 128, 0x030f02f0, -1856, PAGE_BYTES - 8, 64 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int self_offset = cases[i].self_offset;

		make_threads(cases[i].before_end, self_offset, cases[i].place, cases[i].other);
		CHECK_EQ(find(cases[i].version, self_offset, 0), cases[i].place);
	}
}

TEST(what_is_known_decides_between_equals)
{
	make_threads(256, -1856, 48, 64);
	put((char *)(uintptr_t)states[0][THREAD_ID / 8] + 1856, 64, states[0]);
	CHECK_EQ(find(0x030f02f0, -1856, 0), 48);
	CHECK_EQ(find(0x030f02f0, -1856, 64), 64);
}

TEST(without_threads_there_is_no_place)
{
	interpreter[FIRST_THREAD / 8] = 0;
	CHECK_EQ(find(0x030b02f0, 0, 0), 0);
	CHECK(!has_threads);
	runtime[FIRST_INTERPRETER / 8] = 8;
	CHECK_EQ(find(0x030b02f0, 0, 0), 0);
	CHECK(!has_threads);
}

/* Another C library keeps values elsewhere, and so does glibc those behind the first 32. */
TEST(threads_may_have_their_states_where_nobody_looks)
{
	make_threads(4000, 0, 3000, 3008);
	CHECK_EQ(find(0x030b02f0, 0, 0), 0);
	CHECK(has_threads);
	make_threads(4000, 0, 792, 3008);
	CHECK_EQ(find(0x030b02f0, 0, 0), 792);
	CHECK(has_threads);
}

/* Before 3.12 the state that a thread has in a second interpreter is in neither place. */
TEST(states_of_all_interpreters_are_looked_at)
{
	static uint64_t second[32];

	make_threads(2304, 0, 792, 800);
	second[THREAD_ID / 8] = states[0][THREAD_ID / 8];
	newer[0] = address(interpreter);
	newer[FIRST_THREAD / 8] = address(second);
	runtime[FIRST_INTERPRETER / 8] = address(newer);
	CHECK_EQ(find(0x030b02f0, 0, 0), 792);
	CHECK(has_threads);
}
