// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes names from the traced side safe to print. A comm can hold any byte: an escape sequence
 * would drive the terminal, a newline would forge a line of the report.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/escape.h"

/*
 * Valid first and second bytes of a character (RFC 3629, section 4). The bounds exclude overlong
 * forms, surrogates, code points above U+10FFFF, and C1 controls (c2 80 to c2 9f).
 */
static const struct utf8_range {
	unsigned char first_min, first_max, second_min, second_max, length;
} utf8_ranges[] = {
	{ 0xc2, 0xc2, 0xa0, 0xbf, 2 }, { 0xc3, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static bool is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/*
 * Returns the length of a valid multi-byte character, else 0. Stops at the first wrong byte, so
 * never reads past the terminator.
 */
static size_t utf8_length(const unsigned char *s)
{
	for (size_t i = 0; i < sizeof(utf8_ranges) / sizeof(utf8_ranges[0]); i++) {
		const struct utf8_range *r = &utf8_ranges[i];

		if (s[0] < r->first_min || s[0] > r->first_max)
			continue;
		if (s[1] < r->second_min || s[1] > r->second_max)
			return 0;
		for (size_t n = 2; n < r->length; n++)
			if (!is_continuation(s[n]))
				return 0;
		return r->length;
	}
	return 0;
}

/* Returns true if c is in `also`. A call of strchr() would take longer for so few bytes. */
static bool is_one_of(char c, const char *also)
{
	while (also && *also && *also != c)
		also++;
	return also && *also;
}

size_t escape_printable_bytes(const char *s, const char *also)
{
	unsigned char c = *s;

	if (c >= 0x80)
		return utf8_length((const unsigned char *)s);
	if (c < 0x20 || c == 0x7f)
		return 0;
	return !is_one_of(*s, also);
}

size_t escape_printable_run(const char *s, const char *also)
{
	size_t n = 0, bytes = 1;

	for (; bytes; n += bytes) {
		while (s[n] >= 0x20 && s[n] < 0x7f && !is_one_of(s[n], also))
			n++;
		bytes = s[n] & 0x80 ? utf8_length((const unsigned char *)s + n) : 0;
	}
	return n;
}

void escape_print(FILE *f, const char *s, const char *also)
{
	while (*s) {
		size_t run = escape_printable_run(s, also);

		fwrite(s, 1, run, f);
		s += run;
		if (*s)
			fprintf(f, "\\x%02x", (unsigned char)*s++);
	}
}

const char *escape_no_name(const char *comm)
{
	return *comm ? comm : "[no name]";
}

char *escape_string(char *buf, size_t size, const char *s, const char *also)
{
	size_t length = 0;

	while (*s) {
		size_t taken = escape_printable_bytes(s, also),
		       added = taken ? taken : strlen("\\xNN");

		if (length + added >= size)
			break;
		if (taken)
			memcpy(buf + length, s, taken);
		else
			snprintf(buf + length, size - length, "\\x%02x", (unsigned char)*s);
		length += added;
		s += taken ? taken : 1;
	}
	if (size)
		buf[length] = '\0';
	return buf;
}
