// SPDX-License-Identifier: GPL-2.0-only
/* Texts and tables of lines of Python's code objects, as they lie in memory. */
#include "runtimes/python/python.h"
#include "unit.h"

#define KIND(bytes) ((bytes) << 2)

static const char *decode(uint32_t kind, uint32_t length, const void *bytes, size_t n_bytes)
{
	static char kept[512];
	const struct python_text text = { KIND(kind), length };
	char *utf8 = python_text_decode(&text, bytes, n_bytes);

	snprintf(kept, sizeof(kept), "%s", utf8);
	free(utf8);
	return kept;
}

TEST(texts_of_all_widths_become_utf8)
{
	static const uint16_t wide[] = { 'a', 0xe4, 0x20ac };
	static const uint32_t widest[] = { 'b', 0x1f600, 0x7ff, 0x800, 0xffff };

	CHECK_STR(decode(1, 4, "main", 4), "main");
	CHECK_STR(decode(1, 2, "\xe4z", 2), "\xc3\xa4z");
	CHECK_STR(decode(2, 3, wide, sizeof(wide)), "a\xc3\xa4\xe2\x82\xac");
	CHECK_STR(decode(4, 5, widest, sizeof(widest)),
		  "b\xf0\x9f\x98\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf");
	/* a text of no known width is empty */
	CHECK_STR(decode(0, 3, "abc", 3), "");
	CHECK_STR(decode(3, 3, "abcdefghi", 9), "");
	CHECK_STR(decode(7, 1, "abcdefghi", 9), "");
}

TEST(a_text_is_cut_to_what_is_there)
{
	static const uint16_t wide[] = { 'a', 'b', 'c' };

	CHECK_STR(decode(1, 0xffff, "abc", 3), "abc");
	CHECK_STR(decode(2, 0xffff, wide, 5), "ab");
	CHECK_STR(decode(1, 0, "abc", 3), "");
}

TEST(what_is_no_character_is_replaced)
{
	static const uint16_t surrogates[] = { 0xd800, 'x', 0xdfff };
	static const uint32_t large[] = { 0x110000, 0xffffffff, 0x10ffff };

	CHECK_STR(decode(2, 3, surrogates, sizeof(surrogates)), "?x?");
	CHECK_STR(decode(4, 3, large, sizeof(large)), "??\xf4\x8f\xbf\xbf");
	CHECK_STR(decode(1, 3, "a\0b", 3), "ab"); /* it would end the text */
}

/* ---- lines: entries as Objects/locations.md has them ---- */

#define ENTRY(kind, n_units) (0x80 | (kind) << 3 | ((n_units)-1))

/* Returns the lines of these instructions as text, in a table of a code object from line 100 on. */
#define LINES(kind, table, n, ...)                                              \
	lines_of(kind, table, n, (const uint32_t[]){ __VA_ARGS__, UINT32_MAX }, \
		 ARRAY_SIZE(((const uint32_t[]){ __VA_ARGS__ })))

static const char *lines_of(enum python_lines kind, const uint8_t *table, size_t n,
			    const uint32_t *instructions, size_t n_instructions)
{
	return PRINTED(f, {
		for (size_t i = 0; i < n_instructions; i++)
			fprintf(f, "%s%u", i ? " " : "",
				python_line(kind, table, n, 100, instructions[i]));
	});
}

TEST(entries_of_all_kinds_tell_lines)
{
	static const uint8_t table[] = {
		ENTRY(0, 2),  0x12,		   /* short: the same line */
		ENTRY(11, 1), 3,    4,		   /* one line more */
		ENTRY(12, 1), 3,    4,		   /* two more: 103 */
		ENTRY(13, 1), 0x03,		   /* no columns: one less */
		ENTRY(15, 3),			   /* none */
		ENTRY(14, 8), 0x40, 0x02, 0, 1, 2, /* long: 64 more */
		ENTRY(10, 1), 3,    4,
	};

	CHECK_STR(LINES(PYTHON_LINES_LOCATIONS, table, sizeof(table), 0, 1, 2, 3, 4, 5, 7, 8, 15,
			16, 17),
		  "100 100 101 103 102 0 0 166 166 166 0");
}

TEST(a_broken_table_of_lines_has_none)
{
	static const uint8_t no_begin[] = { 0x12, 0x34 };
	static const uint8_t cut[] = { ENTRY(14, 1), 0x7f, 0x7f };
	uint8_t endless[64];

	CHECK_STR(LINES(PYTHON_LINES_LOCATIONS, no_begin, sizeof(no_begin), 0), "0");
	CHECK_STR(LINES(PYTHON_LINES_LOCATIONS, no_begin, 0, 0), "0");
	CHECK_STR(LINES(PYTHON_LINES_LOCATIONS, cut, sizeof(cut), 1, UINT32_MAX), "0 0");
	memset(endless, 0x7f, sizeof(endless));
	endless[0] = ENTRY(13, 8);
	CHECK_STR(LINES(PYTHON_LINES_LOCATIONS, endless, sizeof(endless), 8), "0");
}

/* ---- lines before 3.11 ---- */

/* As PEP 626 has them: bytes of instructions, and lines. */
TEST(ranges_of_310_tell_lines)
{
	static const uint8_t table[] = { 4, 0, 2, 3, 2, 0x80, 0, 5, 4, 0xff, 3 };

	CHECK_STR(LINES(PYTHON_LINES_RANGES, table, sizeof(table), 0, 1, 2, 3, 4, 5, 6, UINT32_MAX),
		  "100 100 103 0 107 107 0 100");
	CHECK_STR(LINES(PYTHON_LINES_RANGES, table, 0, 0), "0");
}

/* As Objects/lnotab_notes.txt has them: the last step has no end. */
TEST(steps_before_310_tell_lines)
{
	static const uint8_t table[] = { 4, 1, 255, 0, 45, 2, 2, 0xfe, 3 };

	CHECK_STR(LINES(PYTHON_LINES_STEPS, table, sizeof(table), 1, 2, 151, 152, 153, 9999,
			INT32_MAX),
		  "100 101 101 103 101 101 100");
	CHECK_STR(LINES(PYTHON_LINES_STEPS, table, 0, 7), "100"); /* all in one line */
}
