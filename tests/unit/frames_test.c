// SPDX-License-Identifier: GPL-2.0-only
/* The table of frames: each once, for as long as it is used. */
#include "output/frames.h"
#include "unit.h"

#define MANY 10000

static const struct image app, libc;

TEST(equal_frames_are_one)
{
	struct frame_table *table = frame_table_new();
	char name[] = "main", file[] = "a.c";
	struct frame frame = { name, FRAME_USER, 7, file, NULL, &app, 0x1000 };
	const struct frame *first = frame_table_get(table, &frame), *second;

	second = frame_table_get(table, &(struct frame){ "main", FRAME_USER, 7, "a.c", NULL, &app,
							 0x1000 });
	memset(name, 'x', 4);
	memset(file, 'x', 3);
	CHECK(first == second);
	CHECK_STR(first->name, "main");
	CHECK_STR(first->file, "a.c");
	CHECK_EQ(frame_table_count(table), 1);
	frame_table_free(table);
}

/* One field changed at a time. */
TEST(frames_that_differ_are_kept_apart)
{
	static const struct frame frames[] = {
		{ "main", FRAME_USER, 7, "a.c", NULL, &app, 0x1000 },
		{ "run", FRAME_USER, 7, "a.c", NULL, &app, 0x1000 },
		{ "main", FRAME_JIT, 7, "a.c", NULL, &app, 0x1000 },
		{ "main", FRAME_USER, 8, "a.c", NULL, &app, 0x1000 },
		{ "main", FRAME_USER, 7, "b.c", NULL, &app, 0x1000 },
		{ "main", FRAME_USER, 7, "a.c", "_main", &app, 0x1000 },
		{ "main", FRAME_USER, 7, "a.c", NULL, &libc, 0x1000 },
		{ "main", FRAME_USER, 7, "a.c", NULL, &app, 0x1001 },
	};
	struct frame_table *table = frame_table_new();

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
			frame_table_get(table, &frames[i]);
	CHECK_EQ(frame_table_count(table), ARRAY_SIZE(frames));
	frame_table_free(table);
}

static const struct frame *get_named(struct frame_table *table, int i)
{
	char name[32];

	snprintf(name, sizeof(name), "function_%d", i);
	return frame_table_get(table, &(struct frame){ .name = name });
}

/* Also when the texts of those that are gone have been freed. */
TEST(what_is_used_stays_where_it_is)
{
	struct frame_table *table = frame_table_new();
	const struct frame **kept = mem_zalloc(MANY, sizeof(*kept));

	for (int i = 0; i < MANY; i++)
		kept[i] = get_named(table, i);
	for (int i = 0; i < MANY; i++)
		if (i % 10)
			frame_release(kept[i]);
	frame_table_release(table);
	CHECK_EQ(frame_table_count(table), MANY / 10);
	for (int i = 0; i < MANY; i += 10)
		CHECK(get_named(table, i) == kept[i]);
	CHECK_STR(kept[10]->name, "function_10");
	CHECK_EQ(frame_table_count(table), MANY / 10);
	free(kept);
	frame_table_free(table);
}

TEST(a_frame_with_two_users_outlives_one)
{
	struct frame_table *table = frame_table_new();
	const struct frame *frame = get_named(table, 1);

	CHECK(get_named(table, 1) == frame);
	frame_release(frame);
	frame_table_release(table);
	CHECK_EQ(frame_table_count(table), 1);
	frame_release(frame);
	frame_table_release(table);
	CHECK_EQ(frame_table_count(table), 0);
	frame_table_free(table);
}
