// SPDX-License-Identifier: GPL-2.0-only
/* Names of areas: paths put together from what BPF sends, and nothing from what is broken. */
#include "pagefaults/faulttable.h"
#include "unit.h"

static struct areas areas;
static struct area_def def;

/* text: the names with their terminators; its own is not one of them. */
#define DEFINE(id_, text_)                                                                 \
	do {                                                                               \
		def.id = (id_);                                                            \
		def.n_bytes = sizeof(text_) - 1;                                           \
		memcpy(def.text, text_, sizeof(text_));                                    \
		areas_define(&areas, &def, offsetof(struct area_def, text) + def.n_bytes); \
	} while (0)

static const struct area_id file = { .ino = 7, .dev = 3, .generation = 1, .kind = AREA_FILE };

/* A name that isn't known shows as "?". */
static const char *name_of(struct area_id id)
{
	const char *name = areas_name(&areas, &id);

	return name ? name : "?";
}

BEFORE_EACH()
{
	memset(&def, 0, sizeof(def));
}

AFTER_EACH()
{
	areas_clear(&areas);
}

TEST(a_path_is_put_together_from_its_end)
{
	DEFINE(file, "libc.so.6\0lib\0usr\0");
	CHECK_STR(name_of(file), "/usr/lib/libc.so.6");
	DEFINE(file, "init\0");
	CHECK_STR(name_of(file), "/init");
	DEFINE(file, ""); /* without names: an empty path */
	CHECK_STR(name_of(file), "");
	def.is_deleted = true;
	DEFINE(file, "x\0tmp\0");
	CHECK_STR(name_of(file), "/tmp/x (deleted)");
	def.is_cut = true;
	DEFINE(file, "c\0b\0");
	CHECK_STR(name_of(file), ".../b/c (deleted)");
}

TEST(inode_0_of_a_file_has_a_name_and_other_memory_none)
{
	struct area_id segment = { .dev = 1, .generation = 5, .kind = AREA_SHMEM };
	struct area_id heap = { .kind = AREA_HEAP };

	CHECK_STR(name_of(segment), "?");
	DEFINE(segment, "SYSV00000000\0");
	CHECK_STR(name_of(segment), "/SYSV00000000");
	CHECK_STR(name_of(heap), "");
}

TEST(what_two_reports_did_not_use_is_let_go)
{
	struct area_id other = file, new = file;

	other.ino = 8;
	new.ino = 9;
	DEFINE(file, "x\0");
	DEFINE(other, "y\0");
	CHECK_STR(name_of(file), "/x");
	areas_end_report(&areas);
	DEFINE(new, "z\0");
	CHECK_STR(name_of(file), "/x");
	areas_end_report(&areas);
	CHECK_STR(name_of(other), "?");
	CHECK_STR(name_of(file), "/x");
	CHECK_STR(name_of(new), "/z");
}

TEST(what_the_kernel_maps_has_its_own_name)
{
	struct area_id vdso = { .ino = 0xffffffff81000000, .kind = AREA_SPECIAL };

	DEFINE(vdso, "[vdso]\0");
	CHECK_STR(name_of(vdso), "[vdso]");
	CHECK_STR(name_of((struct area_id){ .kind = AREA_HEAP }), ""); /* memory without a file */
}

TEST(every_part_of_an_id_counts)
{
	struct area_id other_ino = file, other_dev = file, other_generation = file, shmem = file;

	other_ino.ino++;
	other_dev.dev++;
	other_generation.generation++;
	shmem.kind = AREA_SHMEM;
	DEFINE(file, "a\0");
	DEFINE(other_ino, "b\0");
	CHECK_STR(name_of(file), "/a");
	CHECK_STR(name_of(other_ino), "/b");
	CHECK_STR(name_of(other_dev), "?");
	CHECK_STR(name_of(other_generation), "?");
	CHECK_STR(name_of(shmem), "?");
}

TEST(broken_definitions_are_left_out)
{
	size_t head = offsetof(struct area_def, text);

	def.id = file;
	memset(def.text, 'x', sizeof(def.text));
	def.n_bytes = 4;
	areas_define(&areas, &def, head + 4); /* without a terminator */
	areas_define(&areas, &def, 8);
	def.text[3] = '\0';
	areas_define(&areas, &def, head + 3); /* shorter than it says */
	CHECK_STR(name_of(file), "?");
	def.n_bytes = UINT32_MAX;
	areas_define(&areas, &def, sizeof(def));
	CHECK_STR(name_of(file), "?");
	def.n_bytes = 4;
	areas_define(&areas, &def, head + 4); /* and a sound one */
	CHECK_STR(name_of(file), "/xxx");
}

TEST(kinds_have_names)
{
	CHECK_STR(area_kind_name(AREA_ANON), "anon");
	CHECK_STR(area_kind_name(AREA_HUGE), "huge");
	CHECK_STR(area_kind_name(AREA_KINDS), "unknown");
	CHECK_STR(area_kind_name(UINT32_MAX), "unknown");
}
