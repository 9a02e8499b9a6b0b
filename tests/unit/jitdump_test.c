// SPDX-License-Identifier: GPL-2.0-only
/* Jitdumps as compilers write them: growing, half written, and hostile. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jitdump.h"
#include "process/processes.h"
#include "symbols/jitdump.h"
#include "symbols/jitfile.h"
#include "unit.h"

static int fd; /* the file under test; the map has a descriptor of its own */

static void append(const struct dump_image *d, size_t from, size_t to)
{
	if (write(fd, d->bytes + from, to - from) != (ssize_t)(to - from))
		UNIT_FAIL("writing the dump");
}

static struct jitmap *map_of(const struct dump_image *d)
{
	fd = memfd_create("dump", MFD_CLOEXEC);
	append(d, 0, d->n);
	return jitmap_from_dump(dup(fd), true);
}

static void map_free(struct jitmap *map)
{
	jitmap_free(map);
	close(fd);
}

static struct dump_image begin(void)
{
	struct dump_image d = {};

	put_header(&d, DUMP_MACHINE, (uint32_t)getpid());
	return d;
}

TEST(code_has_its_name)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_load(&d, 0x1000, 0x10, 1, "first");
	put_load(&d, 0x2000, 0x21, 2, "second, of an odd size");
	put_record(&d, 4, 24); /* unwinding information */
	put(&d, d.bytes, 24);
	put_load(&d, 0x3000, 0x20, 3, "third");
	map = map_of(&d);
	CHECK_STR(jitmap_find(map, 0x1000), "first");
	CHECK(!jitmap_find(map, 0x1010));
	CHECK_STR(jitmap_find(map, 0x2020), "second, of an odd size");
	CHECK_STR(jitmap_find(map, 0x301f), "third");
	map_free(map);
}

TEST(code_that_moves_takes_its_name_along)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_load(&d, 0x1000, 0x10, 1, "moved");
	put_load(&d, 0x2000, 0x10, 2, "stays");
	put_move(&d, 0x1000, 0x5000, 0x10, 1);
	put_move(&d, 0x2000, 0x6000, 0x20, 2); /* not its size: a lie */
	put_move(&d, 0x7000, 0x8000, 0x10, 9); /* of what never was */
	map = map_of(&d);
	CHECK(!jitmap_find(map, 0x1000));
	CHECK_STR(jitmap_find(map, 0x5008), "moved");
	CHECK(!jitmap_find(map, 0x6000));
	CHECK(!jitmap_find(map, 0x8000));
	map_free(map);
}

TEST(code_without_a_name_takes_the_place_of_other)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_load(&d, 0x1000, 0x40, 1, "old");
	put_load(&d, 0x2000, 0x40, 2, "other");
	put_load(&d, 0x3000, 0x40, 3, "third");
	put_load(&d, 0x1010, 0x10, 1, "");     /* has no name */
	put_move(&d, 0x7000, 0x2010, 0x10, 9); /* nor what never was, */
	put_move(&d, 0x8000, 0x3010, 0x40, 1); /* nor has it one elsewhere */
	map = map_of(&d);
	CHECK_STR(jitmap_find(map, 0x100f), "old");
	CHECK(!jitmap_find(map, 0x1010));
	CHECK_STR(jitmap_find(map, 0x1020), "old");
	CHECK_STR(jitmap_find(map, 0x200f), "other");
	CHECK(!jitmap_find(map, 0x2010));
	CHECK_STR(jitmap_find(map, 0x2020), "other");
	CHECK_STR(jitmap_find(map, 0x300f), "third");
	CHECK(!jitmap_find(map, 0x3010));
	map_free(map);
}

/* The record ends where the name would begin. */
TEST(a_load_without_even_an_empty_name_takes_the_place_too)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_load(&d, 0x1000, 0x40, 1, "old");
	put_lines(&d, 0x1010, 0, "a.js", "a.js");
	put_record(&d, 0, 40);
	put_word(&d, 1, 8);
	put_word(&d, 0x1010, 8);
	put_word(&d, 0x1010, 8);
	put_word(&d, 0x20, 8);
	put_word(&d, 2, 8);
	map = map_of(&d);
	CHECK_STR(jitmap_find(map, 0x100f), "old");
	CHECK(!jitmap_find(map, 0x1010));
	CHECK_STR(jitmap_find(map, 0x1030), "old");
	map_free(map);
}

/* They were those of code that has no name. */
TEST(lines_of_nameless_code_are_not_the_next_ones)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_lines(&d, 0x1000, 0, "a.js", "a.js");
	put_load(&d, 0x1000, 0x40, 1, "");
	put_load(&d, 0x1000, 0x40, 2, "next");
	map = map_of(&d);
	CHECK_STR(jitmap_find(map, 0x1000), "next");
	CHECK_EQ(jitmap_line(map, 0x1000, &(const char *){ NULL }), 0);
	map_free(map);
}

TEST(what_comes_later_takes_the_place)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_load(&d, 0x1000, 0x40, 1, "before");
	put_load(&d, 0x1010, 0x10, 2, "after");
	map = map_of(&d);
	CHECK_STR(jitmap_find(map, 0x1000), "before");
	CHECK_STR(jitmap_find(map, 0x1010), "after");
	CHECK_STR(jitmap_find(map, 0x1020), "before");
	map_free(map);
}

TEST(a_record_is_read_when_it_is_whole)
{
	struct dump_image d = begin(), rest = begin();
	struct jitmap *map;
	size_t half;

	put_load(&d, 0x1000, 0x10, 1, "whole");
	map = map_of(&d);
	CHECK_STR(jitmap_find(map, 0x1000), "whole");
	rest.n = 0;
	put_load(&rest, 0x2000, 0x80, 2, "late");
	half = rest.n - 1;
	append(&rest, 0, half);
	CHECK(!jitmap_find(map, 0x2000));
	append(&rest, half, rest.n);
	CHECK_STR(jitmap_find(map, 0x2000), "late");
	jitmap_drop(map);
	CHECK_STR(jitmap_find(map, 0x1000), "whole");
	CHECK_STR(jitmap_find(map, 0x2000), "late");
	map_free(map);
}

TEST(nothing_counts_behind_the_end)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_load(&d, 0x1000, 0x10, 1, "before");
	put_record(&d, 3, 0);
	put_load(&d, 0x2000, 0x10, 2, "behind");
	map = map_of(&d);
	CHECK_STR(jitmap_find(map, 0x1000), "before");
	CHECK(!jitmap_find(map, 0x2000));
	map_free(map);
}

TEST(a_record_smaller_than_its_header_ends_it)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_load(&d, 0x1000, 0x10, 1, "before");
	put_word(&d, 0, 8); /* a load of no bytes at all */
	put_word(&d, 0, 8);
	put_load(&d, 0x2000, 0x10, 2, "behind");
	map = map_of(&d);
	CHECK_STR(jitmap_find(map, 0x1000), "before");
	CHECK(!jitmap_find(map, 0x2000));
	map_free(map);
}

static const char *line_at(struct jitmap *map, uint64_t addr)
{
	static char text[64];
	const char *file = NULL;
	uint32_t line = jitmap_line(map, addr, &file);

	snprintf(text, sizeof(text), "%s:%u", line ? file : "", line);
	return text;
}

TEST(lines_come_before_their_code)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_lines(&d, 0x1000, 0, "a.js", "a.js");
	put_load(&d, 0x1000, 0x40, 1, "first");
	put_lines(&d, 0x2000, 4, "b.js", "\xff");
	put_load(&d, 0x2000, 0x40, 2, "second");
	put_lines(&d, 0x3000, 0, "c.js", "c.js");
	put_load(&d, 0x4000, 0x40, 3, "other"); /* than the one that has the lines */
	map = map_of(&d);
	CHECK_STR(line_at(map, 0x1000), "a.js:10");
	CHECK_STR(line_at(map, 0x100f), "a.js:10");
	CHECK_STR(line_at(map, 0x1010), "a.js:11");
	CHECK_STR(line_at(map, 0x103f), "a.js:11");
	CHECK_STR(line_at(map, 0x2003), ":0");
	CHECK_STR(line_at(map, 0x2014), "b.js:11");
	CHECK_STR(line_at(map, 0x4000), ":0");
	CHECK_STR(jitmap_find(map, 0x4000), "other");
	map_free(map);
}

/* As V8 writes them; see HEADER_BYTES. */
TEST(lines_may_count_from_behind_a_header)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_lines(&d, 0x1000, 64, "a.js", "a.js");
	put_load(&d, 0x1000, 0x40, 1, "first");
	map = map_of(&d);
	CHECK_STR(line_at(map, 0x1000), "a.js:10");
	CHECK_STR(line_at(map, 0x1010), "a.js:11");
	map_free(map);
}

TEST(lines_that_make_no_sense_are_none)
{
	struct dump_image d = begin();
	struct jitmap *map;

	put_lines(&d, 0x1000, 0x4000, "far.js", "far.js");
	put_load(&d, 0x1000, 0x40, 1, "far");
	put_record(&d, 2, 16 + 16 + 4); /* a name without an end, and more lines than there are */
	put_word(&d, 0x2000, 8);
	put_word(&d, UINT64_MAX, 8);
	put_word(&d, 0x2000, 8);
	put_word(&d, 1, 8);
	put(&d, "open", 4);
	put_load(&d, 0x2000, 0x40, 2, "open");
	map = map_of(&d);
	CHECK_STR(line_at(map, 0x1000), ":0");
	CHECK_STR(line_at(map, 0x2000), ":0");
	CHECK_STR(jitmap_find(map, 0x2000), "open");
	map_free(map);
}

static bool is_of(uint32_t machine, uint32_t pid, size_t bytes)
{
	struct dump_image d = {};
	bool is;

	put_header(&d, machine, pid);
	fd = memfd_create("dump", MFD_CLOEXEC);
	append(&d, 0, bytes);
	is = jitdump_is_of(fd, getpid());
	close(fd);
	return is;
}

TEST(a_dump_is_of_one_process_and_machine)
{
	CHECK(is_of(DUMP_MACHINE, (uint32_t)getpid(), 40));
	CHECK(!is_of(DUMP_MACHINE, (uint32_t)getppid(), 40));
	CHECK(!is_of(EM_386, (uint32_t)getpid(), 40));
	CHECK(!is_of(DUMP_MACHINE, (uint32_t)getpid(), 39));
}

/* ---- how it is found ---- */

/* The name of address 0x1000 of this process, which has mapped that file. */
static const char *name_by(const char *path, bool executable)
{
	struct processes *table = processes_new(&(struct processes_options){ .max_mappings = 100 });
	int map_fd = open(path, O_RDONLY | O_CLOEXEC);
	void *mark =
		mmap(NULL, 4096, PROT_READ | (executable ? PROT_EXEC : 0), MAP_PRIVATE, map_fd, 0);
	struct maps *maps = processes_read(table, getpid(), 1);
	static char name[32];
	struct jitmap *map;
	struct stat st;

	map = jitfile_open(-1, getpid(), maps, false, &st);
	snprintf(name, sizeof(name), "%s", map ? jitmap_find(map, 0x1000) : "none");
	jitmap_free(map);
	maps_release(maps);
	processes_free(table);
	munmap(mark, 4096);
	close(map_fd);
	return name;
}

TEST(a_dump_is_found_by_its_mapping)
{
	char folder[] = "/tmp/jitdump-XXXXXX", path[96], other[96];
	struct dump_image d = begin();

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, getpid());
	snprintf(other, sizeof(other), "%s/jit-%d.dump", folder, getppid());
	put_load(&d, 0x1000, 0x10, 1, "mine");
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	append(&d, 0, d.n);
	CHECK_STR(name_by(path, true), "mine");
	CHECK_STR(name_by(path, false), "none");
	CHECK_EQ(rename(path, other), 0); /* a parent's */
	CHECK_STR(name_by(other, true), "none");
	CHECK_EQ(rename(other, path), 0);
	if (geteuid() == 0) {
		CHECK_EQ(chown(path, 12345, 12345), 0);
		CHECK_STR(name_by(path, true), "none");
	}
	unlink(path);
	rmdir(folder);
	close(fd);
}
