// SPDX-License-Identifier: GPL-2.0-only
/* Escaping: what a terminal or a parser could trip over never gets through, and nothing else. */
#include "base/escape.h"
#include "base/msg.h"
#include "silent.h"
#include "unit.h"

/* Both forms must agree, so every check goes through both. */
static void check_escaped(const char *s, const char *also, const char *expected)
{
	char buf[256];

	CHECK_STR(PRINTED(f, escape_print(f, s, also)), expected);
	CHECK_STR(escape_string(buf, sizeof(buf), s, also), expected);
}

static const struct {
	const char *text, *also, *escaped; /* NULL: it passes */
} cases[] = {
	{ "", "" },
	{ "", NULL },
	{ "kworker/0:1H-kblockd ~!", "" },
	{ "std::vector<int, A>::push_back(int&&)", ";" },
	/* a backslash, and bytes that are asked for */
	{ "a\\b", ";" },
	{ "a\\b", "\\", "a\\x5cb" },
	{ "a;b c", ";", "a\\x3bb c" },
	{ "a;b c", "; ", "a\\x3bb\\x20c" },
	{ "a;b", NULL },
	/* control bytes, C1's in UTF-8, too */
	{ "a\nb\r\tc", "", "a\\x0ab\\x0d\\x09c" },
	{ "\033[31mred\033[0m", "", "\\x1b[31mred\\x1b[0m" },
	{ "\x01\x1f\x7f", "", "\\x01\\x1f\\x7f" },
	{ "\xc2\x80", "", "\\xc2\\x80" },
	{ "\xc2\x9b[31m", "", "\\xc2\\x9b[31m" },
	{ "\xc2\x9f", "", "\\xc2\\x9f" },
	{ "\xc2\xa0", "" },
	/* UTF-8 */
	{ "gr\xc3\xbc\xc3\x9f", ";" },
	{ "\xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf", "" },
	{ "\xf0\x90\x80\x80 \xf3\xbf\xbf\xbf \xf4\x8f\xbf\xbf", "" },
	/* overlong forms */
	{ "\xc0\xaf", "", "\\xc0\\xaf" },
	{ "\xc1\xbf", "", "\\xc1\\xbf" },
	{ "\xe0\x9f\xbf", "", "\\xe0\\x9f\\xbf" },
	{ "\xf0\x8f\xbf\xbf", "", "\\xf0\\x8f\\xbf\\xbf" },
	/* surrogates, and beyond Unicode */
	{ "\xed\xa0\x80", "", "\\xed\\xa0\\x80" },
	{ "\xed\xbf\xbf", "", "\\xed\\xbf\\xbf" },
	{ "\xf4\x90\x80\x80", "", "\\xf4\\x90\\x80\\x80" },
	{ "\xf5\x80\x80\x80", "", "\\xf5\\x80\\x80\\x80" },
	/* cut characters: a comm is cut at 15 bytes, wherever that is */
	{ "x\xe2", "", "x\\xe2" },
	{ "x\xe2\x82", "", "x\\xe2\\x82" },
	{ "\xf0\x9f\x98", "", "\\xf0\\x9f\\x98" },
	{ "\xe2\x82z\xe2\x82\xac", "", "\\xe2\\x82z\xe2\x82\xac" },
	{ "\xe2\x82\n", "", "\\xe2\\x82\\x0a" },
};

TEST(what_is_no_plain_text_is_escaped)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_escaped(cases[i].text, cases[i].also,
			      cases[i].escaped ? cases[i].escaped : cases[i].text);
}

TEST(every_c0_byte_is_escaped)
{
	for (int c = 1; c < 0x100; c++) {
		char s[2] = { (char)c, 0 }, expected[8];

		if (c >= 0x20 && c < 0x7f)
			snprintf(expected, sizeof(expected), "%c", c);
		else
			snprintf(expected, sizeof(expected), "\\x%02x", c);
		check_escaped(s, "", expected);
	}
}

/* The string ends where its memory does: reading on is seen by the address sanitizer. */
TEST(nothing_behind_the_terminator_is_read)
{
	static const char *const cut[] = { "\xf0", "\xf0\x9f", "\xf0\x9f\x98", "\xe2\x82", "\xc3" };

	for (size_t i = 0; i < ARRAY_SIZE(cut); i++) {
		char *s = mem_strdup(cut[i]), buf[64];

		CHECK_EQ(strlen(escape_string(buf, sizeof(buf), s, "")), 4 * strlen(cut[i]));
		free(s);
	}
}

static const struct {
	size_t size;
	const char *text, *escaped;
} buffers[] = {
	{ 8, "1234567", "1234567" },	 { 8, "12345678", "1234567" },
	{ 7, "12345\xc3\xbc", "12345" }, { 8, "12345\xc3\xbc", "12345\xc3\xbc" },
	{ 8, "1234\n", "1234" },	 { 8, "123\n", "123\\x0a" },
	{ 8, "1234\n5", "1234" },	 { 1, "1", "" },
};

TEST(buffer_is_cut_at_a_whole_character)
{
	char buf[8], none[2] = "x";

	for (size_t i = 0; i < ARRAY_SIZE(buffers); i++)
		CHECK_STR(escape_string(buf, buffers[i].size, buffers[i].text, ""),
			  buffers[i].escaped);
	CHECK(escape_string(none, 0, "1", "") == none); /* is left alone */
	CHECK_STR(none, "x");
}

/* Whoever is traced chooses names that are in messages, too. */
TEST(messages_are_one_line_without_control_bytes)
{
	msg_set_name("test");
	CHECK_STR(SAID(msg_warn("file %s", "x\033]0;y\007\ntest: all is well \xc3\xa4")),
		  "test: warning: file x\\x1b]0;y\\x07\\x0atest: all is well \xc3\xa4\n");
}
