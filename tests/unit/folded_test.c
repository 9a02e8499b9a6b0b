// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folded stacks as they are found: read, and written again; what is none is left out and counted.
 */
#include "output/folded.h"
#include "output/folded_tree.h"
#include "output/remarks.h"
#include "unit.h"

static FILE *open_text(const char *text)
{
	return fmemopen((char *)text, strlen(text), "r");
}

/* The text read into a tree and written again. */
static char *fold(const char *text, enum folded_column column, bool reverse)
{
	struct calltree *tree = calltree_new(1000);
	struct folded_input input = { "test", open_text(text), column, reverse };
	char *result;

	CHECK_EQ(folded_tree_read(tree, &input), 0);
	calltree_finish(tree);
	result = PRINTED(f, folded_tree_write(f, tree, column == FOLDED_BOTH));
	fclose(input.file);
	calltree_free(tree);
	return result;
}

static const struct {
	const char *text, *folded;
	enum folded_column column;
	bool reverse;
} cases[] = {
	/* equal stacks are added up, hottest first */
	{ "a;b 1\na;c 5\na;b 2\na 1\n", "a;c 5\na;b 3\na 1\n", FOLDED_NOW },
	/* names may hold blanks, and the last line no newline */
	{ "java;operator new(unsigned long) 7\r\nbash;a b 12 3",
	  "java;operator new(unsigned long) 7\nbash;a b 12 3\n", FOLDED_NOW },
	/* a comment is no stack; a thread may have such a name */
	{ "# by stackcollapse\n#2;main 4\na 1\n", "\\x232;main 4\na 1\n", FOLDED_NOW },
	{ "# ;b;c 5\n#\n# of 7\na 1\n", "\\x23 ;b;c 5\na 1\n", FOLDED_NOW },
	{ "a;b 3 5\na;c 2 0\n", "a;b 3 5\na;c 2 0\n", FOLDED_BOTH }, /* before and now */
	{ "a;b;c 4\nd;c 1\n", "c;b;a 4\nc;d 1\n", FOLDED_NOW, true },
	/* a file may be anybody's: names are escaped, once */
	{ "a\x1b[2Jb;\\x1b;\xff\xc3\xa4 1\n", "a\\x1b[2Jb;\\x1b;\\xff\xc3\xa4 1\n", FOLDED_NOW },
	/* values that add up to too much are left out */
	{ "a 18446744073709551610\na 3\nb 7\n", "a 18446744073709551613\n", FOLDED_NOW },
	/* fractions are exact up to 64 bits */
	{ "a 0.1\na .2\nb 1e-3\nc 3.000\nd 2.5e+3\n", "d 2500\nc 3\na 0.3\nb 0.001\n", FOLDED_NOW },
	{ "a 0.10000000000000000000000001\n", "a 0.1\n", FOLDED_NOW },
	{ "a 1.8446744073709551615\n", "a 1.8446744073709551615\n", FOLDED_NOW },
	{ "a 1.8446744073709551615\nb 1\n", "a 1.844674407370955162\nb 1\n", FOLDED_NOW },
	{ "a 18446744073709551609.5\nb 1e-30\nc 3\n", "a 18446744073709551610\nc 3\n", FOLDED_NOW },
	{ "a 1844674407370955161.5\nb 3e-1\n", "a 1844674407370955162\n", FOLDED_NOW },
	{ "a 1\nb 1e20\nc 1e\nd e1\ne .\nf 1.2.3\ng 0x1\nh 1e-99999999999999999999\n", "a 1\n",
	  FOLDED_NOW },
};

TEST(stacks_are_read_and_written)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_CASE_STR(cases[i].text,
			       fold(cases[i].text, cases[i].column, cases[i].reverse),
			       cases[i].folded);
}

static struct folded_line *line;
static struct folded_reader reader;

/* Reads the first line. */
static void begin(const char *text)
{
	static FILE *f;

	if (f) {
		folded_close(&reader);
		fclose(f);
	}
	f = open_text(text);
	line = until_end(calloc(1, sizeof(*line)));
	folded_open(&reader, f, false);
	CHECK(folded_read(&reader, line));
}

TEST(suffixes_and_delimiters_tell_kinds)
{
	static const enum frame_kind kinds[] = { FRAME_USER,   FRAME_USER, FRAME_INLINED,
						 FRAME_JIT,    FRAME_MARK, FRAME_KERNEL,
						 FRAME_KERNEL, FRAME_MARK, FRAME_USER };

	begin("x;main;inl_[i];jit_[j];-;sys_read;vfs_[k];--;waker 1\n");
	CHECK(line->n_frames == 9);
	for (size_t i = 0; i < 9; i++)
		CHECK_EQ(line->frames[i].kind, kinds[i]);
	CHECK_STR(line->frames[2].name, "inl");
	CHECK(!folded_read(&reader, line));
}

/* async-profiler -a: interpreted, and compiled by C1. Only its methods have a class. */
TEST(digits_are_suffixes_of_methods)
{
	begin("worker_[0];java/lang/Thread.run_[0];Foo.bar_[1];Foo.<init>_[j];pool_[1];a.b_[2] "
	      "1\n");
	CHECK_STR(line->frames[0].name, "worker_[0]");
	CHECK_EQ(line->frames[0].kind, FRAME_USER);
	CHECK_STR(line->frames[1].name, "java/lang/Thread.run");
	CHECK_STR(line->frames[2].name, "Foo.bar");
	CHECK_STR(line->frames[3].name, "Foo.<init>");
	for (size_t i = 1; i < 4; i++)
		CHECK_EQ(line->frames[i].kind, FRAME_JIT);
	CHECK_STR(line->frames[4].name, "pool_[1]");
	CHECK_STR(line->frames[5].name, "a.b_[2]");
}

TEST(a_threads_name_is_not_a_delimiter)
{
	begin("-;main;--;waker 1\n");
	CHECK_EQ(line->frames[0].kind, FRAME_USER);
	CHECK_EQ(line->frames[1].kind, FRAME_USER);
	CHECK_EQ(line->frames[2].kind, FRAME_MARK);
}

static enum frame_kind kind_of_last(const char *text)
{
	begin(text);
	return line->frames[line->n_frames - 1].kind;
}

/* Remarks on a stack are not frames; threads of Go without work have one such frame. */
TEST(remarks_are_no_frames)
{
	static const char *const frames[] = { "[idle]", "[unknown]", "[vdso]", "[libc.so.6+0x12]",
					      "[jit]",	"[anon]",    "[bash]", "[python]" };
	char text[64];

	CHECK_EQ(kind_of_last("shop;[idle];[blocked at end] 1\n"), FRAME_MARK);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		snprintf(text, sizeof(text), "shop;%s 1\n", frames[i]);
		CHECK_EQ(kind_of_last(text), FRAME_USER);
	}
}

TEST(every_remark_of_a_tool_is_one)
{
	static const char *const remarks[] = { REMARKS };
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(remarks); i++) {
		snprintf(text, sizeof(text), "shop;main;[%s] 1\n", remarks[i]);
		CHECK_EQ(kind_of_last(text), FRAME_MARK);
	}
	CHECK_EQ(kind_of_last("shop;main;[kernel mode, major] 1\n"), FRAME_MARK);
}

TEST(lines_that_are_no_stacks_are_counted)
{
	uint64_t sum;

	begin("# comment\n\na;b 1\nnonsense\n 5\na;b x\na;b -3\na 99999999999999999999\n;;; 4\nc "
	      "2\n");
	for (sum = line->value.digits; folded_read(&reader, line);)
		sum += line->value.digits;
	CHECK_EQ(sum, 3);
	CHECK_EQ(reader.refused, 6);
	CHECK_EQ(reader.first_refused, 4);
}

TEST(a_file_without_stacks_is_an_error)
{
	struct calltree *tree = calltree_new(1000);
	struct folded_input input = { "test", open_text("no stacks here\n"), FOLDED_NOW, false };

	CHECK(folded_tree_read(tree, &input) < 0);
	fclose(input.file);
	calltree_free(tree);
}
