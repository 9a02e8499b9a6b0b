// SPDX-License-Identifier: GPL-2.0-only
/* Names that were found: when they are many, and old. */
#include "symbols/dso.h"
#include "unit.h"

static struct known_names names;
static struct idmap offsets;

BEFORE_EACH()
{
	known_names_init(&names);
	offsets = (struct idmap){};
}

AFTER_EACH()
{
	known_names_free_offsets(&names, &offsets);
	known_names_free(&names);
}

static void keep(int from, int to)
{
	char text[32];

	for (int i = from; i < to; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		known_names_keep(&names, text);
	}
}

static void add(uint64_t offset)
{
	const struct srcframe frame = { .function = "inlined", .file = "f.c", .line = 7 };

	known_names_add(&names, &offsets, offset,
			&(struct known_name){ .name = "f", .symbol = "g", .n_frames = 1 }, &frame);
}

static void age(uint32_t epoch)
{
	known_names_begin_age(&names, epoch);
	known_names_age(&names, &offsets);
	known_names_end_age(&names);
}

/* A program with a compiler at run time has ever new ones. */
TEST(names_without_offsets_become_many_too)
{
	keep(0, 20000);
	keep(0, 20000);
	CHECK(!known_names_are_many(&names));
	keep(20000, 40000);
	CHECK(known_names_are_many(&names));
	age(0);
	CHECK(!known_names_are_many(&names));
}

TEST(offsets_become_many_and_go)
{
	for (uint64_t i = 0; i < 4096; i++) {
		CHECK(!known_names_are_many(&names));
		add(i);
	}
	CHECK(known_names_are_many(&names));
	age(0);
	CHECK_EQ(names.count, 0);
	CHECK_EQ(offsets.count, 0);
}

TEST(a_name_that_was_not_used_for_two_epochs_goes)
{
	const struct known_name *known;

	age(1);
	add(5);
	age(2);
	add(6);
	age(3);
	CHECK_EQ(names.count, 1);
	known = idmap_find(&offsets, 7);
	CHECK(known);
	CHECK_STR(known->name, "f");
	CHECK_STR(known->symbol, "g");
	CHECK_STR(known->frames[0].file, "f.c");
	age(4);
	CHECK_EQ(names.count, 0);
}
