// SPDX-License-Identifier: GPL-2.0-only
/* Perf maps as JIT compilers write them: overlapping, growing, half written, and hostile. */
#include "symbols/jitmap.h"
#include "silent.h"
#include "unit.h"

static struct jitmap *map;
static int fd; /* the file under test; the map has a descriptor of its own */

static void append(const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		UNIT_FAIL("writing the map");
}

static void begin(const char *text)
{
	fd = memfd_create("map", MFD_CLOEXEC);
	append(text);
	map = jitmap_from(dup(fd));
}

/* Writes the file anew. */
static void replace(const char *text)
{
	CHECK_EQ(ftruncate(fd, 0), 0);
	lseek(fd, 0, SEEK_SET);
	append(text);
}

/* The name at an address now. */
static const char *name_at(uint64_t addr)
{
	return jitmap_name(map, jitmap_find(map, addr, UINT64_MAX));
}

AFTER_EACH()
{
	jitmap_free(map);
	close(fd);
}

TEST(lines_with_and_without_0x)
{
	begin("1000 10 plain\n0x2000 0x20 prefixed\n7f0000001000 8 with blanks in it\n");
	CHECK_STR(NAMES(name_at, 0x1000, 0x100f, 0x1010, 0xfff, 0x201f, 0x7f0000001007),
		  "plain, plain, -, -, prefixed, with blanks in it");
}

TEST(what_was_dropped_is_read_again)
{
	begin("1000 10 first\n2000 20 second\n");
	CHECK_EQ(jitmap_bytes(map), 0);
	CHECK_STR(name_at(0x1000), "first");
	CHECK(jitmap_bytes(map) > sizeof("first") + sizeof("second"));
	jitmap_drop(map);
	CHECK_EQ(jitmap_bytes(map), 0);
	append("1000 10 third\n");
	CHECK_STR(NAMES(name_at, 0x1000, 0x2000), "third, second");
}

TEST(code_without_a_name_takes_the_place_of_other)
{
	begin("1000 100 old\n1040 20 \n");
	CHECK_STR(NAMES(name_at, 0x103f, 0x1040, 0x105f, 0x1060), "old, -, -, old");
	append("1050 10 new\n");
	CHECK_STR(NAMES(name_at, 0x104f, 0x1050), "-, new");
}

/* Lines of 14 bytes. */
TEST(the_size_of_the_file_says_which_lines_applied)
{
	uint32_t first, second;

	begin("1000 10 first\n");
	first = jitmap_find(map, 0x1000, UINT64_MAX);
	append("1008 8 second\n");
	second = jitmap_find(map, 0x1008, UINT64_MAX);
	CHECK(first && second && first != second);
	CHECK_EQ(jitmap_find(map, 0x1008, 14), first);
	CHECK_EQ(jitmap_find(map, 0x1008, 27), first); /* the second was not whole yet */
	CHECK_EQ(jitmap_find(map, 0x1008, 28), second);
	CHECK_EQ(jitmap_find(map, 0x1000, 28), first);
	CHECK_EQ(jitmap_find(map, 0x1008, 13), 0);
	for (int i = 0; i < 100; i++) /* so that they are cut anew */
		append("1000 10 third\n");
	CHECK_EQ(jitmap_find(map, 0x1008, 28), second);
	CHECK_STR(jitmap_name(map, second), "second");
	CHECK_STR(jitmap_name(map, first), "first");
}

TEST(without_the_size_only_one_name_is_right)
{
	begin("1000 10 first\n2000 10 same\n2000 10 same\n");
	CHECK_STR(jitmap_name(map, jitmap_find(map, 0x1000, 0)), "first");
	CHECK_STR(jitmap_name(map, jitmap_find(map, 0x2000, 0)), "same");
	append("1008 8 second\n");
	CHECK_EQ(jitmap_find(map, 0x1008, 0), 0);
	CHECK_STR(jitmap_name(map, jitmap_find(map, 0x1000, 0)), "first");
}

TEST(numbers_of_a_file_that_was_written_anew_have_no_name)
{
	uint32_t number;

	begin("1000 10 first_program\n");
	number = jitmap_find(map, 0x1000, UINT64_MAX);
	replace("1000 10 second\n");
	CHECK(!jitmap_name(map, number));
	CHECK_STR(name_at(0x1000), "second");
}

/* The same after the names were dropped; without a change they are found again. */
TEST(numbers_of_a_dropped_map_name_only_what_they_named)
{
	uint32_t number;

	begin("1000 10 first_program\n");
	number = jitmap_find(map, 0x1000, UINT64_MAX);
	jitmap_drop(map);
	CHECK_STR(jitmap_name(map, number), "first_program");
	jitmap_drop(map);
	replace("1000 10 second\n2000 10 third\n");
	jitmap_drop(map);
	CHECK(!jitmap_name(map, number));
	CHECK_STR(name_at(0x1000), "second");
}

/* Against a table of who owns each address, for definitions that overlap in every way. */
TEST(overlaps_agree_with_a_plain_table)
{
	int owner[256], wrong = 0;
	char text[32];

	begin("");
	for (int i = 0; i < 256; i++)
		owner[i] = -1;
	srandom(7);
	for (int n = 0; n < 200; n++) {
		int start = (int)(random() % 250), size = 1 + (int)(random() % 40);

		snprintf(text, sizeof(text), "%x %x f%d\n", start, size, n);
		append(text);
		for (int i = start; i < start + size && i < 256; i++)
			owner[i] = n;
		for (int i = 0; i < 256; i++) {
			const char *name = name_at((uint64_t)i);

			snprintf(text, sizeof(text), "f%d", owner[i]);
			wrong += owner[i] < 0 ? name != NULL : !name || strcmp(name, text);
		}
	}
	CHECK_EQ(wrong, 0);
}

TEST(a_line_half_written_is_read_when_it_is_whole)
{
	begin("1000 10 first\n2000 10 sec");
	CHECK(!name_at(0x2000));
	append("ond\n");
	CHECK_STR(name_at(0x2000), "second");
}

TEST(a_file_written_anew_is_read_anew)
{
	begin("1000 10 first_program\n");
	CHECK_STR(name_at(0x1000), "first_program");
	replace("1000 10 second\n");
	CHECK_STR(name_at(0x1000), "second");
	replace("2000 10 larger\n3000 10 with_more_in_it\n");
	CHECK_STR(NAMES(name_at, 0x2000, 0x3000, 0x1000), "larger, with_more_in_it, -");
}

TEST(broken_lines_are_left_out)
{
	begin("\n1000\n1000 10\n1000 10 \nxyz 10 a\n1000 zz b\n1000 0 empty\n"
	      "ffffffffffffffff 10 wraps\n11111111111111111 1 large\n4000 10 good\n");
	CHECK_STR(NAMES(name_at, 0x1000, 5, 0x4000), "-, -, good");
}

TEST(a_line_without_end_is_skipped)
{
	char block[4096];

	begin("1000 10 ");
	memset(block, 'x', sizeof(block) - 1);
	block[sizeof(block) - 1] = '\0';
	for (int i = 0; i < 600; i++)
		append(block);
	append("\n5000 10 after\n");
	CHECK_STR(name_at(0x5000), "after");
}

/* A definition that isn't read may replace one that was. */
TEST(a_file_that_is_too_large_has_no_names)
{
	const char *said;

	begin("1000 10 old\n2000 10 other\n");
	CHECK_STR(name_at(0x1000), "old");
	CHECK_EQ(ftruncate(fd, 64 << 20), 0);
	lseek(fd, 0, SEEK_END);
	append("\n1000 10 new\n");
	said = SAID(CHECK_STR(NAMES(name_at, 0x1000, 0x2000), "-, -"));
	CHECK_EQ(jitmap_bytes(map), 0);
	CHECK_HAS(said, "map (deleted): perf map ignored: larger than 64 MiB");
	CHECK_EQ(strchr(said, '\n') - said, strlen(said) - 1); /* one line */
	replace("1000 10 new\n");
	CHECK_STR(name_at(0x1000), "new");
}

static struct jitmap *open_in(const char *folder)
{
	int root_fd = open(folder, O_PATH | O_DIRECTORY);
	struct stat st;

	map = jitfile_open(root_fd, getpid(), &st);
	close(root_fd);
	return map;
}

TEST(only_a_regular_file_of_the_right_owner_is_taken)
{
	char folder[] = "/tmp/jitmap-XXXXXX", tmp[64], path[96];

	CHECK(mkdtemp(folder));
	snprintf(tmp, sizeof(tmp), "%s/tmp", folder);
	snprintf(path, sizeof(path), "%s/perf-%d.map", tmp, getpid());
	mkdir(tmp, 0700);
	CHECK(!open_in(folder));

	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK(!open_in(folder));
	unlink(path);

	CHECK_EQ(symlink("/dev/zero", path), 0);
	CHECK(!open_in(folder)); /* of that root, where there is none */
	unlink(path);

	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	append("1000 10 mine\n");
	CHECK(open_in(folder) && !strcmp(name_at(0x1000), "mine"));
	jitmap_free(map);
	CHECK_EQ(utimensat(AT_FDCWD, path, (struct timespec[2]){ { 1 }, { 1 } }, 0), 0);
	CHECK(!open_in(folder)); /* it was another one's with that pid */
	CHECK_EQ(utimensat(AT_FDCWD, path, NULL, 0), 0);
	CHECK(open_in(folder));
	jitmap_free(map);
	if (geteuid() == 0) { /* else nobody else's file can be made */
		CHECK_EQ(chown(path, 12345, 12345), 0);
		CHECK(!open_in(folder));
	}
	map = NULL;
	unlink(path);
	rmdir(tmp);
	rmdir(folder);
}
