// SPDX-License-Identifier: GPL-2.0-only
/* Names that were found: when they are many. */
#include "symbols/dso.h"
#include "unit.h"

static void keep(struct known_names *names, int from, int to)
{
	char text[32];

	for (int i = from; i < to; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		known_names_keep(names, text);
	}
}

/* A program with a compiler at run time has ever new ones. */
TEST(names_without_offsets_become_many_too)
{
	struct known_names names;

	known_names_init(&names);
	keep(&names, 0, 20000);
	keep(&names, 0, 20000);
	CHECK(!known_names_are_many(&names));
	keep(&names, 20000, 40000);
	CHECK(known_names_are_many(&names));
	known_names_forget(&names);
	CHECK(!known_names_are_many(&names));
	known_names_free(&names);
}

TEST(offsets_become_many)
{
	const struct known_name found = { .name = "f", .symbol = "f" };
	struct idmap offsets = {};
	struct known_names names;

	known_names_init(&names);
	for (uint64_t i = 0; i <= 8192; i++) {
		CHECK(!known_names_are_many(&names));
		known_names_add(&names, &offsets, i, &found, NULL);
	}
	CHECK(known_names_are_many(&names));
	known_names_free_offsets(&offsets);
	known_names_free(&names);
}
