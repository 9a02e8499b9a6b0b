// SPDX-License-Identifier: GPL-2.0-only
/* Escaping: what a terminal or a parser could trip over never gets through, and nothing else. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/msg.h"
#include "unit.h"

/* Both forms must agree, so every check goes through both. */
static void check_escaped(const char *s, const char *also, const char *expected)
{
	char buf[256], *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	escape_print(f, s, also);
	fclose(f);
	CHECK_STR(text, expected);
	CHECK_STR(escape_string(buf, sizeof(buf), s, also), expected);
	free(text);
}

TEST(plain_text_passes)
{
	check_escaped("", "", "");
	check_escaped("", NULL, "");
	check_escaped("kworker/0:1H-kblockd ~!", "", "kworker/0:1H-kblockd ~!");
	check_escaped("std::vector<int, A>::push_back(int&&)", ";",
		      "std::vector<int, A>::push_back(int&&)");
}

TEST(backslash_passes_unless_asked_for)
{
	check_escaped("a\\b", ";", "a\\b");
	check_escaped("a\\b", "\\", "a\\x5cb");
}

TEST(bytes_asked_for_are_escaped)
{
	check_escaped("a;b c", ";", "a\\x3bb c");
	check_escaped("a;b c", "; ", "a\\x3bb\\x20c");
	check_escaped("a;b", NULL, "a;b");
}

TEST(control_bytes_are_escaped)
{
	check_escaped("a\nb\r\tc", "", "a\\x0ab\\x0d\\x09c");
	check_escaped("\033[31mred\033[0m", "", "\\x1b[31mred\\x1b[0m");
	check_escaped("\x01\x1f\x7f", "", "\\x01\\x1f\\x7f");
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

TEST(c1_controls_are_escaped_in_utf8_too)
{
	check_escaped("\xc2\x80", "", "\\xc2\\x80");
	check_escaped("\xc2\x9b"
		      "31m",
		      "", "\\xc2\\x9b31m");
	check_escaped("\xc2\x9f", "", "\\xc2\\x9f");
	check_escaped("\xc2\xa0", "", "\xc2\xa0");
}

TEST(valid_utf8_passes)
{
	check_escaped("gr\xc3\xbc\xc3\x9f", ";", "gr\xc3\xbc\xc3\x9f");
	check_escaped("\xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf", "",
		      "\xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf");
	check_escaped("\xf0\x90\x80\x80 \xf3\xbf\xbf\xbf \xf4\x8f\xbf\xbf", "",
		      "\xf0\x90\x80\x80 \xf3\xbf\xbf\xbf \xf4\x8f\xbf\xbf");
}

TEST(overlong_forms_are_escaped)
{
	check_escaped("\xc0\xaf", "", "\\xc0\\xaf");
	check_escaped("\xc1\xbf", "", "\\xc1\\xbf");
	check_escaped("\xe0\x9f\xbf", "", "\\xe0\\x9f\\xbf");
	check_escaped("\xf0\x8f\xbf\xbf", "", "\\xf0\\x8f\\xbf\\xbf");
}

TEST(surrogates_and_beyond_unicode_are_escaped)
{
	check_escaped("\xed\xa0\x80", "", "\\xed\\xa0\\x80");
	check_escaped("\xed\xbf\xbf", "", "\\xed\\xbf\\xbf");
	check_escaped("\xf4\x90\x80\x80", "", "\\xf4\\x90\\x80\\x80");
	check_escaped("\xf5\x80\x80\x80", "", "\\xf5\\x80\\x80\\x80");
}

/* A comm is cut at 15 bytes, wherever that is. */
TEST(cut_characters_are_escaped)
{
	check_escaped("x\xe2", "", "x\\xe2");
	check_escaped("x\xe2\x82", "", "x\\xe2\\x82");
	check_escaped("\xf0\x9f\x98", "", "\\xf0\\x9f\\x98");
	check_escaped("\xe2\x82z\xe2\x82\xac", "", "\\xe2\\x82z\xe2\x82\xac");
	check_escaped("\xe2\x82\n", "", "\\xe2\\x82\\x0a");
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

TEST(buffer_is_cut_at_a_whole_character)
{
	char buf[8];

	CHECK_STR(escape_string(buf, 8, "1234567", ""), "1234567");
	CHECK_STR(escape_string(buf, 8, "12345678", ""), "1234567");
	CHECK_STR(escape_string(buf, 7, "12345\xc3\xbc", ""), "12345");
	CHECK_STR(escape_string(buf, 8, "12345\xc3\xbc", ""), "12345\xc3\xbc");
	CHECK_STR(escape_string(buf, 8, "1234\n", ""), "1234");
	CHECK_STR(escape_string(buf, 8, "123\n", ""), "123\\x0a");
	CHECK_STR(escape_string(buf, 8, "1234\n5", ""), "1234");
	CHECK_STR(escape_string(buf, 1, "1", ""), "");
}

TEST(buffer_of_no_size_is_left_alone)
{
	char buf[2] = "x";

	CHECK(escape_string(buf, 0, "1", "") == buf);
	CHECK_STR(buf, "x");
}

/* Whoever is traced chooses names that are in messages, too. */
TEST(messages_are_one_line_without_control_bytes)
{
	int fd = memfd_create("messages", MFD_CLOEXEC), saved_fd = dup(STDERR_FILENO);
	char text[256] = {};

	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	msg_set_name("test");
	msg_warn("file %s", "x\033]0;y\007\ntest: all is well \xc3\xa4");
	fflush(stderr);
	dup2(saved_fd, STDERR_FILENO);
	CHECK(pread(fd, text, sizeof(text) - 1, 0) > 0);
	CHECK_STR(text, "test: warning: file x\\x1b]0;y\\x07\\x0atest: all is well \xc3\xa4\n");
	close(saved_fd);
	close(fd);
}
