// SPDX-License-Identifier: GPL-2.0-only
/* The parser of /proc/PID/maps: what is kept, what is refused, and how addresses are found. */
#include <sys/sysmacros.h>

#include "base/readfile.h"
#include "process/procmaps.h"
#include "unit.h"

static const char sample[] =
	"55e000000000-55e000001000 r--p 00000000 fe:01 77                         /usr/bin/x\n"
	"55e000001000-55e000003000 r-xp 00001000 fe:01 77                         /usr/bin/x\n"
	"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
	"7f0000002000-7f0000003000 r-xs 00000000 00:05 4096   /memfd:a b (deleted)\n"
	"7ffff0000000-7ffff0002000 r-xp 00000000 00:00 0                          [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static struct mappings maps;

AFTER_EACH()
{
	mappings_free(&maps);
}

/* Parses a text into maps, and frees the former ones. */
static void parse(const char *text)
{
	mappings_free(&maps);
	mappings_parse(&maps, text, true);
}

TEST(keeps_executable_mappings_only)
{
	parse(sample);
	CHECK_EQ(maps.count, 5);
	CHECK_EQ(maps.items[0].start, 0x55e000001000);
	CHECK_EQ(maps.items[0].end, 0x55e000003000);
	CHECK_EQ(maps.items[0].offset, 0x1000);
	CHECK_EQ(maps.items[0].dev, makedev(0xfe, 1));
	CHECK_EQ(maps.items[0].ino, 77);
	CHECK_STR(maps.items[0].path, "/usr/bin/x");
	CHECK_STR(maps.items[1].path, "");
	CHECK_EQ(maps.items[1].ino, 0);
	CHECK_STR(maps.items[2].path, "/memfd:a b (deleted)"); /* as printed */
	CHECK_STR(maps.items[3].path, "[vdso]");
	CHECK_STR(maps.items[4].path, "[vsyscall]");
	mappings_free(&maps);
	CHECK_EQ(maps.count, 0);
}

#define EXE_LINE   "10000-11000 r--p 00000000 fe:01 77                         /usr/bin/x\n"
#define MOVED_LINE "11000-13000 r-xp 00000000 00:00 0 \n"

static void check_below(const char *text, bool is_there)
{
	const struct mapping *m;

	parse(text);
	CHECK(maps.count > 0);
	m = &maps.items[maps.count - 1];
	CHECK_EQ(m->start, 0x11000);
	CHECK_EQ(m->below != NULL, is_there);
	if (m->below) {
		CHECK_EQ(m->below->start, 0x10000);
		CHECK_EQ(m->below->ino, 77);
		CHECK_STR(m->below->path, "/usr/bin/x");
	}
}

TEST(memory_knows_the_file_right_below_it)
{
	check_below(EXE_LINE MOVED_LINE, true);
	check_below(EXE_LINE "11000-13000 r-xp 00000000 00:0e 5     /anon_hugepage (deleted)\n",
		    true);
	check_below(EXE_LINE "11000-13000 r-xp 00000000 00:00 0     [anon:text]\n", true);
	check_below(EXE_LINE "11000-13000 r-xp 00000000 00:00 0     [vdso]\n", false);
	check_below(EXE_LINE "11000-13000 r-xp 00001000 fe:01 77    /usr/bin/x\n", false);
	check_below("10000-10800 r--p 00000000 fe:01 77    /usr/bin/x\n" MOVED_LINE, false);
	check_below("0000-10000 r--p 00000000 fe:01 76     /usr/bin/y\n"
		    "10000-10800 r--p 00000000 fe:01 77    /usr/bin/x\n"
		    "10800-11000 r-xp 00000000 00:00 0\n" MOVED_LINE,
		    true);
	check_below("10000-10800 r--p 00000000 fe:01 77    /usr/bin/x\n"
		    "10800-11000 rw-p 00000000 00:00 0\n" MOVED_LINE,
		    false);
	check_below(MOVED_LINE, false);
}

TEST(the_kernel_is_asked_what_lies_below_memory)
{
	char *text = mmap(NULL, 3 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const size_t half = 1 << 20;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct mapping *m;

	CHECK(mmap(text, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == text);
	mprotect(text + 4096, half, PROT_READ | PROT_EXEC);
	mprotect(text + 4096 + half, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	mprotect(text + 2 * half, 4096, PROT_READ | PROT_EXEC);
	CHECK_EQ(mappings_read(&maps, getpid()), 0);
	m = mappings_find(&maps, (uintptr_t)text + 4096);
	CHECK(m && m->below && m->below->start == (uintptr_t)text && m->below->ino);
	m = mappings_find(&maps, (uintptr_t)text + 4096 + half);
	CHECK(m && m->below && m->below->start == (uintptr_t)text);
	m = mappings_find(&maps, (uintptr_t)text + 2 * half);
	CHECK(m && !m->below);
	munmap(text, 3 << 20);
	close(fd);
}

TEST(data_is_kept_if_asked_for)
{
	static char data[4096] = { 1 };
	char *shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct mapping *m;

	CHECK_EQ(mappings_read_all(&maps, getpid()), 0);
	m = mappings_find(&maps, (uintptr_t)data);
	CHECK(m && !m->is_shared);
	m = mappings_find(&maps, (uintptr_t)shared);
	CHECK(m && m->is_shared && m->ino);
	mappings_free(&maps);
	CHECK_EQ(mappings_read(&maps, getpid()), 0);
	CHECK(!mappings_find(&maps, (uintptr_t)data));
	munmap(shared, 4096);
}

TEST(undoes_escaped_newlines_and_no_backslashes)
{
	parse("1000-2000 r-xp 00000000 08:01 5    /a\\012b\\134c\\01\\012\n");
	CHECK_EQ(maps.count, 1);
	CHECK_STR(maps.items[0].path, "/a\nb\\134c\\01\n");
}

TEST(leaves_out_broken_lines)
{
	static const char *const broken[] = {
		"",
		"\n",
		"-",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 08",
		"1000-2000 r-xp 0 08:01",
		"1000-2000 r-xp 0 08:01 x /a\n",
		"1000-2000 r-xp 0 08:01 5x /a\n",
		"2000-2000 r-xp 0 08:01 5 /empty\n",
		"3000-2000 r-xp 0 08:01 5 /reversed\n",
		" 1000-2000 r-xp 0 08:01 5 /a\n",
		"-1000-2000 r-xp 0 08:01 5 /a\n",
		"11112222333344445-2000 r-xp 0 08:01 5 /a\n",
		"1000-2000 r-xp 0 08:01 99999999999999999999 /a\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		parse(broken[i]);
		if (maps.count)
			UNIT_FAIL("accepted: %s", broken[i]);
	}
}

TEST(goes_on_after_a_broken_line)
{
	parse("rubbish\n1000-2000 r-xp 0 08:01 5 /a\n1800-3000 r-xp 0 08:01 6 /b\n"
	      "3000-4000 r-xp 0 08:01 7 /c");
	CHECK_EQ(maps.count, 2);
	CHECK_STR(maps.items[0].path, "/a");
	CHECK_STR(maps.items[1].path, "/c");
}

TEST(finds_the_mapping_that_holds_an_address)
{
	parse(sample);
	CHECK(!mappings_find(&maps, 0));
	CHECK(!mappings_find(&maps, 0x55e000000fff));
	CHECK(mappings_find(&maps, 0x55e000001000) == &maps.items[0]);
	CHECK(mappings_find(&maps, 0x55e000002fff) == &maps.items[0]);
	CHECK(!mappings_find(&maps, 0x55e000003000));
	CHECK(mappings_find(&maps, 0x7f0000002abc) == &maps.items[2]);
	CHECK(mappings_find(&maps, 0xffffffffff600fff) == &maps.items[4]);
	CHECK(!mappings_find(&maps, UINT64_MAX));
	mappings_free(&maps);
	CHECK(!mappings_find(&maps, 0x1000));
}

/* The kernel's query for mappings gives the same as the text. */
TEST(reads_what_the_text_says)
{
	char file[] = "/tmp/procmaps-a\nb-XXXXXX", *text;
	int fd = mkstemp(file);
	const struct mapping *m;
	struct mappings read;

	CHECK_EQ(ftruncate(fd, 8192), 0);
	unlink(file);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 4096) != MAP_FAILED);
	CHECK_EQ(mappings_read(&read, getpid()), 0);
	m = mappings_find(&read, (uint64_t)(uintptr_t)mappings_read);
	CHECK(m && m->ino && strstr(m->path, program_invocation_short_name));
	text = readfile("/proc/self/maps", 1 << 20, NULL);
	parse(text);
	CHECK(read.count == maps.count ||
	      (read.count == maps.count + 1 && !strcmp(read.items[maps.count].path, "[vsyscall]")));
	for (size_t i = 0; i < maps.count && i < read.count; i++) {
		const struct mapping *a = &maps.items[i], *b = &read.items[i];

		CHECK_EQ(b->start, a->start);
		CHECK_EQ(b->end, a->end);
		CHECK_EQ(b->offset, a->offset);
		CHECK_EQ(b->dev, a->dev);
		CHECK_EQ(b->ino, a->ino);
		CHECK_EQ(b->is_shared, a->is_shared);
		CHECK_STR(b->path, a->path);
	}
	mappings_free(&read);
	free(text);
	close(fd);
}

TEST(reads_more_than_one_buffer)
{
	const size_t page = sysconf(_SC_PAGESIZE), n = 4000;
	char *area = mmap(NULL, 2 * n * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < n; i++)
		mprotect(area + 2 * i * page, page, PROT_READ | PROT_EXEC);
	CHECK_EQ(mappings_read(&maps, getpid()), 0);
	CHECK(maps.count >= n);
	CHECK(mappings_find(&maps, (uintptr_t)area + 2 * (n - 1) * page));
	CHECK(!mappings_find(&maps, (uintptr_t)area + page));
	munmap(area, 2 * n * page);
}

TEST(says_that_a_process_is_gone)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	CHECK_EQ(mappings_read(&maps, pid), -ESRCH);
	CHECK_EQ(maps.count, 0);
}
