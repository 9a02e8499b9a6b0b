// SPDX-License-Identifier: GPL-2.0-only
/* The data model of the stack tools: merging, copying, order. */
#include "base/strpool.h"
#include "output/profile.h"
#include "one_profile.h"
#include "unit.h"

static const struct frame frames_abc[] = {
	{ "a", FRAME_USER },
	{ "b", FRAME_USER },
	{ "c", FRAME_KERNEL },
};

static struct sample make_sample(uint64_t value)
{
	return (struct sample){
		.comm = "app",
		.pid = 7,
		.cpu = -1,
		.frames = frames_abc,
		.n_frames = ARRAY_SIZE(frames_abc),
		.value = value,
	};
}

TEST(pool_gives_equal_strings_one_address)
{
	struct strpool *pool = strpool_new();
	char a[] = "name", b[] = "name";
	const char *first = strpool_intern(pool, a);

	CHECK(first != a);
	CHECK(strpool_intern(pool, b) == first);
	CHECK(strpool_intern(pool, "name2") != first);
	CHECK(strpool_intern(pool, "") != first);
	CHECK_EQ(strpool_count(pool), 3);
	strpool_free(pool);
}

TEST(pool_keeps_addresses_while_it_grows)
{
	enum { N = 20000 };
	struct strpool *pool = strpool_new();
	const char **kept = mem_zalloc(N, sizeof(*kept));
	char name[32];
	int moved = 0, wrong = 0;

	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		kept[i] = strpool_intern(pool, name);
	}
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		wrong += strcmp(kept[i], name) != 0;
		moved += strpool_intern(pool, name) != kept[i];
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(moved, 0);
	CHECK_EQ(strpool_count(pool), N);
	free(kept);
	strpool_free(pool);
}

TEST(empty_profile)
{
	profile_sort(p);
	CHECK_EQ(profile_count(p), 0);
	CHECK_EQ(profile_total(p), 0);
	CHECK_STR(profile_unit(p), "samples");
}

TEST(equal_samples_are_merged)
{
	struct sample s = make_sample(5);

	begin("microseconds", NULL);
	profile_add(p, &s);
	s.value = 30;
	profile_add(p, &s);
	CHECK_EQ(profile_count(p), 1);
	CHECK_EQ(profile_sample(p, 0)->value, 35);
	CHECK_EQ(profile_total(p), 35);
}

TEST(columns_are_merged_each_in_its_way)
{
	static const struct column columns[] = {
		{ "count", COLUMN_SUM }, { "youngest", COLUMN_LEAST }, { "oldest", COLUMN_MOST }, {}
	};
	static const uint64_t rows[][PROFILE_COLUMNS] = { { 3, COLUMN_ABSENT, COLUMN_ABSENT },
							  { 5, 700, 900 },
							  { 7, 100, 800 } };
	struct sample s = make_sample(1);
	const uint64_t *merged;

	begin("bytes", columns);
	for (size_t i = 0; i < 3; i++) {
		memcpy(s.columns, rows[i], sizeof(rows[i]));
		profile_add(p, &s);
	}
	CHECK_EQ(profile_count(p), 1);
	merged = profile_sample(p, 0)->columns;
	CHECK_EQ(merged[0], 15);
	CHECK_EQ(merged[1], 100);
	CHECK_EQ(merged[2], 900);
}

TEST(only_parts_of_the_value_are_scaled_with_it)
{
	static const struct column columns[] = { { .name = "runnable", .rest = "blocked" },
						 { .name = "count" },
						 {} };
	struct sample s = make_sample(5000);

	begin("nanoseconds", columns);
	s.columns[0] = 2000;
	s.columns[1] = 3000;
	profile_add(p, &s);
	profile_scale(p, 1000);
	CHECK_EQ(profile_sample(p, 0)->value, 5);
	CHECK_EQ(profile_sample(p, 0)->columns[0], 2);
	CHECK_EQ(profile_sample(p, 0)->columns[1], 3000);
	CHECK(profile_column(p, 1) && !profile_column(p, 2));
}

TEST(scaled_values_add_up_to_the_scaled_total)
{
	uint64_t sum = 0;

	begin("nanoseconds", NULL);
	for (int i = 0; i < 7; i++) {
		struct sample s = make_sample(1999);

		s.cpu = i;
		profile_add(p, &s);
	}
	profile_scale(p, 1000);
	for (size_t i = 0; i < profile_count(p); i++)
		sum += profile_sample(p, i)->value;
	CHECK_EQ(profile_count(p), 7);
	CHECK_EQ(sum, 13);
	CHECK_EQ(profile_total(p), 13);
}

TEST(names_are_compared_by_content)
{
	struct sample s = make_sample(1);
	char a[] = "a", b[] = "b", c[] = "c", comm[] = "app", remark[] = "x", remark2[] = "x";
	struct frame frames[] = { { a, FRAME_USER }, { b, FRAME_USER }, { c, FRAME_KERNEL } };

	s.remark = remark;
	profile_add(p, &s);
	s.frames = frames;
	s.comm = comm;
	s.remark = remark2;
	profile_add(p, &s);
	CHECK_EQ(profile_count(p), 1);
}

/* One field changed at a time: each must keep samples apart. */
TEST(samples_that_differ_are_kept_apart)
{
	static const struct frame kind[] = { { "a", FRAME_USER },
					     { "b", FRAME_KERNEL },
					     { "c", FRAME_KERNEL } };
	static const struct frame name[] = { { "a", FRAME_USER },
					     { "b", FRAME_USER },
					     { "d", FRAME_KERNEL } };
	struct sample s[9];

	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		s[i] = make_sample(1);
	s[1].comm = "apq";
	s[2].pid = 8;
	s[3].cpu = 0;
	s[4].state = 'D';
	s[5].remark = "blocked at end";
	s[6].frames = kind;
	s[7].frames = name;
	s[8].n_frames = 2;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_SIZE(s); i++)
			profile_add(p, &s[i]);
	CHECK_EQ(profile_count(p), ARRAY_SIZE(s));
	for (size_t i = 0; i < profile_count(p); i++)
		CHECK_EQ(profile_sample(p, i)->value, 2);
}

TEST(everything_is_copied)
{
	char comm[] = "evil\n\033[2J", name[] = "na;me", remark[] = "left";
	struct frame frame = { name, FRAME_USER };
	struct sample s = { comm, 1, 2, 'S', remark, &frame, 1, 3, { 1 } };
	const struct sample *got;

	profile_add(p, &s);
	memset(comm, 'x', sizeof(comm) - 1);
	memset(name, 'x', sizeof(name) - 1);
	memset(remark, 'x', sizeof(remark) - 1);
	memset(&frame, 0, sizeof(frame));
	got = profile_sample(p, 0);
	CHECK_STR(got->comm, "evil\n\033[2J");
	CHECK_STR(got->remark, "left");
	CHECK_EQ(got->n_frames, 1);
	CHECK_STR(sample_frame(got, 0)->name, "na;me");
	CHECK_EQ(sample_frame(got, 0)->kind, FRAME_USER);
	CHECK_EQ(got->pid, 1);
	CHECK_EQ(got->cpu, 2);
	CHECK_EQ(got->state, 'S');
}

TEST(stack_without_frames)
{
	struct sample s = { .comm = "idle", .cpu = -1, .value = 4 };

	profile_add(p, &s);
	profile_add(p, &s);
	CHECK_EQ(profile_count(p), 1);
	CHECK_EQ(profile_sample(p, 0)->n_frames, 0);
	CHECK_EQ(profile_sample(p, 0)->value, 8);
}

TEST(sorted_hottest_first)
{
	static const uint64_t values[] = { 3, 9, 1, UINT64_MAX / 2, 7 };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct sample s = make_sample(values[i]);

		s.pid = (uint32_t)i;
		profile_add(p, &s);
	}
	profile_sort(p);
	for (size_t i = 1; i < profile_count(p); i++)
		CHECK(profile_sample(p, i - 1)->value > profile_sample(p, i)->value);
}

/* The expected order of samples of equal value; `n` are their frames' number. */
static const struct sample ordered[] = {
	{ .comm = "a", .pid = 9, .cpu = -1, .n_frames = 3 },
	{ .comm = "b", .pid = 1, .cpu = -1, .n_frames = 3 },
	{ .comm = "b", .pid = 2, .cpu = -1, .n_frames = 0 },
	{ .comm = "b", .pid = 2, .cpu = -1, .n_frames = 1 },
	{ .comm = "b", .pid = 2, .cpu = -1, .n_frames = 2 },
	{ .comm = "b", .pid = 2, .cpu = -1, .n_frames = 2, .remark = "m" },
	{ .comm = "b", .pid = 2, .cpu = -1, .n_frames = 2, .remark = "n" },
	{ .comm = "b", .pid = 2, .cpu = -1, .state = 'D', .n_frames = 2 },
	{ .comm = "b", .pid = 2, .cpu = -1, .state = 'S', .n_frames = 2 },
	{ .comm = "b", .pid = 2, .cpu = 0, .n_frames = 2 },
	{ .comm = "b", .pid = 2, .cpu = 1, .n_frames = 2 },
	{ .comm = "b", .pid = 2000000000, .cpu = -1, .n_frames = 0 },
	{ .comm = "b", .pid = 4000000000, .cpu = -1, .n_frames = 0 },
};

TEST(order_does_not_depend_on_arrival)
{
	for (size_t first = 0; first < ARRAY_SIZE(ordered); first++) {
		begin("samples", NULL);
		for (size_t i = 0; i < ARRAY_SIZE(ordered); i++) {
			struct sample s = ordered[(first + i * 5) % ARRAY_SIZE(ordered)];

			s.frames = frames_abc;
			s.value = 1;
			profile_add(p, &s);
		}
		profile_sort(p);
		CHECK_EQ(profile_count(p), ARRAY_SIZE(ordered));
		for (size_t i = 0; i < profile_count(p); i++) {
			const struct sample *s = profile_sample(p, i), *want = &ordered[i];

			CHECK_STR(s->comm, want->comm);
			CHECK_EQ(s->pid, want->pid);
			CHECK_EQ(s->cpu, want->cpu);
			CHECK_EQ(s->state, want->state);
			CHECK_EQ(s->n_frames, want->n_frames);
			CHECK_STR(s->remark ? s->remark : "", want->remark ? want->remark : "");
		}
	}
}

TEST(samples_can_be_added_after_sorting)
{
	struct sample hot = make_sample(10), cold = make_sample(1);

	cold.pid = 8;
	profile_add(p, &cold);
	profile_add(p, &hot);
	profile_sort(p);
	cold.value = 100;
	profile_add(p, &cold);
	CHECK_EQ(profile_count(p), 2);
	profile_sort(p);
	CHECK_EQ(profile_sample(p, 0)->pid, 8);
	CHECK_EQ(profile_sample(p, 0)->value, 101);
}

/* Stacks of 10 to 39 frames, all handed over in the same array. */
static void add_many(int n_stacks, int n_adds)
{
	static char names[500][32];
	struct frame frames[40];
	struct sample s = { .comm = "busy", .cpu = -1, .frames = frames, .value = 1 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		snprintf(names[i], sizeof(names[i]), "some_function_name_%zu", i);
	for (int i = 0; i < n_adds; i++) {
		size_t stack = (size_t)(i % n_stacks);

		s.pid = (uint32_t)stack;
		s.n_frames = 10 + stack % 30;
		for (size_t j = 0; j < s.n_frames; j++)
			frames[j] = (struct frame){ names[(stack + j) % 500], FRAME_USER };
		profile_add(p, &s);
	}
}

TEST(hundred_thousand_adds_are_fast)
{
	uint64_t start_ns = clock_thread_ns();

	add_many(50000, 100000);
	profile_sort(p);
	CHECK(clock_thread_ns() - start_ns < 20 * NS_PER_S); /* quadratic: minutes */
	CHECK_EQ(profile_count(p), 50000);
	CHECK_EQ(profile_total(p), 100000);
	CHECK_EQ(profile_sample(p, 49999)->value, 2);
}
