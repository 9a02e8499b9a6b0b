// SPDX-License-Identifier: GPL-2.0-only
/* Tests of frame locations in builds of Python: by version, and by offsets in the file. */
#include "elf/elf64.h"
#include "runtimes/python/layout.h"
#include "runtimes/runtimes.h"
#include "unit.h"

/* As CPython 3.13.0 has them on x86-64, in words of struct _Py_DebugOffsets. */
static void fill_313(uint64_t words[PYTHON_OFFSET_WORDS])
{
	memset(words, 0, PYTHON_OFFSET_WORDS * sizeof(*words));
	memcpy(words, "xdebugpy", 8);
	words[1] = 0x030d00f0;
	words[5] = 632;	 /* interpreters' head */
	words[8] = 7264; /* an interpreter's next one, */
	words[9] = 7344; /* and threads */
	words[21] = 8;	 /* a thread's: next, */
	words[23] = 72;	 /* frame, */
	words[24] = 152; /* and id */
	words[29] = 8;	 /* a frame's: previous, */
	words[30] = 0;
	words[31] = 56;
	words[33] = 70;
	words[35] = PYTHON_CODE_FILENAME;
	words[37] = PYTHON_CODE_QUALNAME;
	words[38] = PYTHON_CODE_LINETABLE;
	words[39] = 68;
	words[43] = 200;
}

/* As Debian's 3.14.10 and 3.15.2 have them, from the first of an interpreter's on. */
static const uint64_t of_314[] = {
	784, 808,  225864, 7280, 7272, 7344, 7360, 7408, 7688, 7672, 7680, 16,	7784,
	0,   7800, 7792,   7992, 0,    832,  0,	   8,	 16,   72,   152,  160, 232,
	32,  88,   8,	   0,	 56,   80,   74,   64,	 0,    216,  112,  120, 128,
	136, 68,   52,	   96,	 104,  208,  0,	   16,	 8,    416,  24,
};
static const uint64_t of_315[] = {
	912,  936,  226240, 7272, 7264, 7336, 7352, 7400, 7592, 7576, 7584, 16, 7736, 0,
	7752, 7744, 7944,   0,	  888,	0,    8,    16,	  72,	80,   88,   96, 176,  184,
	256,  32,   36,	    40,	  136,	288,  0,    88,	  8,	0,    56,   80, 74,   64,
	0,    216,  112,    120,  128,	136,  68,   52,	  96,	104,  208,  0,	16,   8,
};

/* The words of a version with a state of that size. */
static void fill(uint64_t words[PYTHON_OFFSET_WORDS], uint64_t version, uint64_t size,
		 const uint64_t *said, size_t n)
{
	memset(words, 0, PYTHON_OFFSET_WORDS * sizeof(*words));
	memcpy(words, "xdebugpy", 8);
	words[1] = version;
	words[3] = size;
	memcpy(&words[4], said, n * sizeof(*said));
}

static const char *find(struct python_file *python, uint32_t version, const uint64_t *words)
{
	*python = (struct python_file){ .version = version, .layout.code_type = 0x1234 };
	return python_layout_find(python, words, words ? PYTHON_OFFSET_WORDS : 0);
}

TEST(known_versions_need_no_offsets)
{
	struct python_file python;

	CHECK(!find(&python, 0x030b02f0, NULL));
	CHECK_EQ(python.layout.ends_inside, 1);
	CHECK_EQ(python.layout.has_versions, 0);
	CHECK_EQ(python.layout.str_ascii, 48);
	CHECK_EQ(python.layout.code_type, 0x1234);
	CHECK(!find(&python, 0x030c01f0, NULL));
	CHECK_EQ(python.layout.has_cframe, 1);
	CHECK_EQ(python.layout.has_versions, 1);
	CHECK_EQ(python.layout.str_ascii, 40);
	CHECK_EQ(python.layout.code_type, 0x1234);
}

/* As struct _frame and PyCodeObject are in their headers. */
TEST(versions_before_311_have_objects)
{
	struct python_file python;

	for (uint32_t version = 0x03080000; version < 0x030a0000; version += 0x10000) {
		CHECK(!find(&python, version, NULL));
		CHECK_EQ(python.layout.frame_instr, 104);
		CHECK_EQ(python.layout.frame_locals, 360);
		CHECK_EQ(python.layout.instr_shift, 0);
		CHECK_EQ(python.layout.lines_kind, PYTHON_LINES_STEPS);
		CHECK_EQ(python.layout.code_type, 0x1234);
	}
	CHECK(!find(&python, 0x030a0000, NULL));
	CHECK_EQ(python.layout.frame_instr, 96);
	CHECK_EQ(python.layout.frame_locals, 352);
	CHECK_EQ(python.layout.instr_shift, 1);
	CHECK_EQ(python.layout.lines_kind, PYTHON_LINES_RANGES);
	CHECK_EQ(python.layout.code_name, 112);
}

TEST(offsets_come_from_the_file)
{
	uint64_t words[PYTHON_OFFSET_WORDS];
	struct python_file python;

	fill_313(words);
	CHECK(!find(&python, 0x030d00f0, words));
	CHECK_EQ(python.layout.lists.interpreters, 632);
	CHECK_EQ(python.layout.lists.older, 7264);
	CHECK_EQ(python.layout.lists.threads, 7344);
	CHECK_EQ(python.layout.top, 72);
	CHECK_EQ(python.layout.thread_id, 152);
	CHECK_EQ(python.layout.frame_owner, 70);
	CHECK_EQ(python.layout.has_cframe, 0);
	CHECK_EQ(python.layout.code_type, 0x1234);
}

/* These keep the owner further behind, in the last byte that is read with the frame. */
TEST(offsets_of_314_and_315_are_taken)
{
	uint64_t words[PYTHON_OFFSET_WORDS];
	struct python_file python;

	fill(words, 0x030e0af0, 316616, of_314, ARRAY_SIZE(of_314));
	CHECK(!find(&python, 0x030e0af0, words));
	CHECK_EQ(python.layout.lists.interpreters, 808);
	CHECK_EQ(python.layout.lists.older, 7272);
	CHECK_EQ(python.layout.top, 72);
	CHECK_EQ(python.layout.thread_id, 152);
	CHECK_EQ(python.layout.frame_owner, 74);
	CHECK_EQ(python.layout.code_adaptive, 208);
	fill(words, 0x030f02f0, 346568, of_315, ARRAY_SIZE(of_315));
	CHECK(!find(&python, 0x030f02f0, words));
	CHECK_EQ(python.layout.lists.interpreters, 936);
	CHECK_EQ(python.layout.lists.older, 7264);
	CHECK_EQ(python.layout.top, 72);
	CHECK_EQ(python.layout.thread_id, 176);
	CHECK_EQ(python.layout.frame_instr, 56);
	CHECK_EQ(python.layout.frame_owner, 74);
	CHECK_EQ(python.layout.code_first_line, 68);
	CHECK_EQ(python.layout.code_adaptive, 208);
}

TEST(what_is_not_understood_is_refused)
{
	uint64_t words[PYTHON_OFFSET_WORDS];
	struct python_file python;

	fill_313(words);
	CHECK(find(&python, 0x030700f0, words));
	CHECK(find(&python, 0x031000f0, words));
	CHECK(find(&python, 0x030e00f0, words)); /* another version's */
	CHECK(find(&python, 0x030d00f0, NULL));
	words[2] = 1;
	CHECK(strstr(find(&python, 0x030d00f0, words), "GIL"));
	fill_313(words);
	words[0]++;
	CHECK(find(&python, 0x030d00f0, words));
}

TEST(offsets_outside_of_what_is_read_are_refused)
{
	static const unsigned int at[] = {
		5, 8, 9, 21, 23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43
	};
	uint64_t words[PYTHON_OFFSET_WORDS];
	struct python_file python;

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		fill_313(words);
		words[at[i]] = 1ULL << 32 | 8;
		CHECK(find(&python, 0x030d00f0, words));
	}
}

/* As the C library tells debuggers; of this program it is said by nobody. */
TEST(the_size_of_a_thread_is_the_c_librarys)
{
	int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY);
	struct elf64 elf;

	if (fd < 0)
		fd = open("/lib/aarch64-linux-gnu/libc.so.6", O_RDONLY);
	if (fd < 0)
		SKIP("there is no glibc where Debian has it");
	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK(runtime_thread_bytes(&elf) > 1024);
	close(fd);
	fd = open("/proc/self/exe", O_RDONLY);
	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(runtime_thread_bytes(&elf), 0);
	close(fd);
}

TEST(a_file_that_is_no_python_is_not_taken_for_one)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct python_file python;
	struct elf64 elf;

	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(python_file_read(&python, &elf), -ENOENT);
	close(fd);
}
