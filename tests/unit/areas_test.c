// SPDX-License-Identifier: GPL-2.0-only
/* Names of areas: paths put together from what BPF sends, and nothing from what is broken. */
#include <stdlib.h>

#include "pagefaults/areas.h"
#include "unit.h"

static struct area_def def;

/* text: the names with their terminators; its own is not one of them. */
#define DEFINE(areas, id_, text_)                                                         \
	do {                                                                              \
		def.id = (id_);                                                           \
		def.n_bytes = sizeof(text_) - 1;                                          \
		memcpy(def.text, text_, sizeof(text_));                                   \
		areas_define(areas, &def, offsetof(struct area_def, text) + def.n_bytes); \
	} while (0)

static const struct area_id file = { .ino = 7, .dev = 3, .generation = 1, .kind = AREA_FILE };

/* A name that isn't known shows as "?". */
static const char *name_of(const struct areas *areas, struct area_id id)
{
	const char *name = areas_name(areas, &id);

	return name ? name : "?";
}

static struct areas *begin(void)
{
	memset(&def, 0, sizeof(def));
	return areas_new();
}

TEST(a_path_is_put_together_from_its_end)
{
	struct areas *areas = begin();

	DEFINE(areas, file, "libc.so.6\0lib\0usr\0");
	CHECK_STR(name_of(areas, file), "/usr/lib/libc.so.6");
	areas_free(areas);
}

TEST(a_file_in_the_root_has_one_slash)
{
	struct areas *areas = begin();

	DEFINE(areas, file, "init\0");
	CHECK_STR(name_of(areas, file), "/init");
	areas_free(areas);
}

TEST(a_deleted_file_is_marked)
{
	struct areas *areas = begin();

	def.is_deleted = true;
	DEFINE(areas, file, "x\0tmp\0");
	CHECK_STR(name_of(areas, file), "/tmp/x (deleted)");
	areas_free(areas);
}

TEST(a_path_that_was_cut_says_so)
{
	struct areas *areas = begin();

	def.is_cut = true;
	def.is_deleted = true;
	DEFINE(areas, file, "c\0b\0");
	CHECK_STR(name_of(areas, file), ".../b/c (deleted)");
	areas_free(areas);
}

TEST(what_two_reports_did_not_use_is_let_go)
{
	struct area_id other = file, new = file;
	struct areas *areas = begin();

	other.ino = 8;
	new.ino = 9;
	DEFINE(areas, file, "x\0");
	DEFINE(areas, other, "y\0");
	CHECK_STR(name_of(areas, file), "/x");
	areas_end_report(areas);
	DEFINE(areas, new, "z\0");
	CHECK_STR(name_of(areas, file), "/x");
	areas_end_report(areas);
	CHECK_STR(name_of(areas, other), "?");
	CHECK_STR(name_of(areas, file), "/x");
	CHECK_STR(name_of(areas, new), "/z");
	areas_free(areas);
}

TEST(what_the_kernel_maps_has_its_own_name)
{
	struct area_id vdso = { .ino = 0xffffffff81000000, .kind = AREA_SPECIAL };
	struct areas *areas = begin();

	DEFINE(areas, vdso, "[vdso]\0");
	CHECK_STR(name_of(areas, vdso), "[vdso]");
	areas_free(areas);
}

TEST(memory_without_a_file_has_no_name)
{
	struct areas *areas = begin();

	CHECK_STR(name_of(areas, (struct area_id){ .kind = AREA_HEAP }), "");
	areas_free(areas);
}

TEST(every_part_of_an_id_counts)
{
	struct area_id other_ino = file, other_dev = file, other_generation = file, shmem = file;
	struct areas *areas = begin();

	other_ino.ino++;
	other_dev.dev++;
	other_generation.generation++;
	shmem.kind = AREA_SHMEM;
	DEFINE(areas, file, "a\0");
	DEFINE(areas, other_ino, "b\0");
	CHECK_STR(name_of(areas, file), "/a");
	CHECK_STR(name_of(areas, other_ino), "/b");
	CHECK_STR(name_of(areas, other_dev), "?");
	CHECK_STR(name_of(areas, other_generation), "?");
	CHECK_STR(name_of(areas, shmem), "?");
	areas_free(areas);
}

TEST(the_last_definition_counts)
{
	struct areas *areas = begin();

	DEFINE(areas, file, "before\0");
	DEFINE(areas, file, "after\0");
	CHECK_STR(name_of(areas, file), "/after");
	areas_free(areas);
}

TEST(a_definition_without_names_is_an_empty_path)
{
	struct areas *areas = begin();

	DEFINE(areas, file, "");
	CHECK_STR(name_of(areas, file), "");
	areas_free(areas);
}

TEST(broken_definitions_are_left_out)
{
	struct areas *areas = begin();
	size_t head = offsetof(struct area_def, text);

	def.id = file;
	memset(def.text, 'x', sizeof(def.text));
	def.n_bytes = 4;
	areas_define(areas, &def, head + 4); /* without a terminator */
	areas_define(areas, &def, 8);
	def.text[3] = '\0';
	areas_define(areas, &def, head + 3); /* shorter than it says */
	CHECK_STR(name_of(areas, file), "?");
	def.n_bytes = UINT32_MAX;
	areas_define(areas, &def, sizeof(def));
	CHECK_STR(name_of(areas, file), "?");
	def.n_bytes = 4;
	areas_define(areas, &def, head + 4); /* and a sound one */
	CHECK_STR(name_of(areas, file), "/xxx");
	areas_free(areas);
}

TEST(kinds_have_names)
{
	CHECK_STR(area_kind_name(AREA_ANON), "anon");
	CHECK_STR(area_kind_name(AREA_HUGE), "huge");
	CHECK_STR(area_kind_name(AREA_KINDS), "unknown");
	CHECK_STR(area_kind_name(UINT32_MAX), "unknown");
}
