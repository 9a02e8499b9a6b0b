// SPDX-License-Identifier: GPL-2.0-only
/* Text inside of XML documents; see xml.h. escape.c decides which characters are printable. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/escape.h"
#include "output/xml.h"

/* Two characters that are valid UTF-8 but not allowed in XML. */
static bool is_noncharacter(const char *s)
{
	return !memcmp(s, "\xef\xbf\xbe", 3) || !memcmp(s, "\xef\xbf\xbf", 3);
}

/* Writes a character. bytes: its length; 0: the byte at s is not printable. */
static void print_character(FILE *f, const char *s, size_t bytes)
{
	static const struct {
		char character;
		const char *entity;
	} entities[] = {
		{ '&', "&amp;" },  { '<', "&lt;" },   { '>', "&gt;" },
		{ '"', "&quot;" }, { '\'', "&#39;" },
	};

	for (size_t i = 0; bytes == 1 && i < sizeof(entities) / sizeof(entities[0]); i++)
		if (*s == entities[i].character) {
			fputs(entities[i].entity, f);
			return;
		}
	if (bytes == 0)
		fprintf(f, "\\x%02x", (unsigned char)*s);
	else if (bytes == 3 && is_noncharacter(s))
		fprintf(f, "\\x%02x\\x%02x\\x%02x", (unsigned char)s[0], (unsigned char)s[1],
			(unsigned char)s[2]);
	else
		fwrite(s, 1, bytes, f);
}

/* Walks over at most n characters, writing them unless f is NULL; returns how many there were. */
static size_t walk(FILE *f, const char *s, size_t n)
{
	size_t count = 0;

	for (; *s && count < n; count++) {
		size_t bytes = escape_printable_bytes(s, NULL);

		if (f)
			print_character(f, s, bytes);
		s += bytes ? bytes : 1;
	}
	return count;
}

void xml_print(FILE *f, const char *s)
{
	walk(f, s, SIZE_MAX);
}

void xml_print_start(FILE *f, const char *s, size_t n)
{
	walk(f, s, n);
}

size_t xml_length(const char *s)
{
	return walk(NULL, s, SIZE_MAX);
}
