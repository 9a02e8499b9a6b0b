// SPDX-License-Identifier: GPL-2.0-only
/* Texts and lines of code objects; see code.h. */

#include "runtimes/python/code.h"
#include "runtimes/text.h"

/* ---- texts ---- */

static size_t count_characters(const struct python_text *text, uint32_t kind, size_t n_bytes)
{
	if (kind != 1 && kind != 2 && kind != 4)
		return 0;
	return text->length < n_bytes / kind ? text->length : n_bytes / kind;
}

char *python_text_decode(const struct python_text *text, const uint8_t *bytes, size_t n_bytes)
{
	uint32_t kind = PYTHON_STR_KIND(text->state);

	return runtime_text_decode(bytes, count_characters(text, kind, n_bytes), kind);
}

/* ---- lines ---- */

/* Kinds of entries. 0 to 9: "short", two bytes; 10 to 12: one line, three bytes. */
enum {
	ONE_LINE_0 = 10,
	ONE_LINE_2 = 12,
	NO_COLUMNS = 13,
	LONG = 14,
	NO_LOCATION = 15,
};

#define ENTRY_BEGINS 0x80

struct table {
	const uint8_t *at, *end;
};

/* Reads a number of six bits per byte, lowest first; bit 6 is set if more bytes follow. */
static uint32_t take_number(struct table *t)
{
	uint32_t value = 0;

	for (unsigned int shift = 0; t->at < t->end && shift < 32; shift += 6) {
		uint8_t byte = *t->at++;

		value |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

/* Reads a signed number: bit 0 is the sign. Modulo 2^32, so nothing overflows. */
static uint32_t take_difference(struct table *t)
{
	uint32_t number = take_number(t);

	return number & 1 ? -(number >> 1) : number >> 1;
}

/* Skips the rest of an entry: the next one begins with a byte that has the top bit set. */
static void skip_entry(struct table *t)
{
	while (t->at < t->end && !(*t->at & ENTRY_BEGINS))
		t->at++;
}

static uint32_t take_line(struct table *t, unsigned int kind)
{
	uint32_t lines = 0;

	if (kind == LONG || kind == NO_COLUMNS)
		lines = take_difference(t);
	else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2)
		lines = kind - ONE_LINE_0;
	skip_entry(t);
	return lines;
}

static uint32_t find_location(struct table t, uint32_t line, uint32_t instruction)
{
	uint32_t end = 0;

	while (t.at < t.end && *t.at & ENTRY_BEGINS) {
		unsigned int kind = *t.at >> 3 & 15, n_units = (*t.at & 7) + 1;

		t.at++;
		line += take_line(&t, kind);
		end += n_units;
		if (instruction < end)
			return kind == NO_LOCATION ? 0 : line;
	}
	return 0;
}

/* ---- lines before 3.11: pairs of bytes, of which the second one has a sign ---- */

#define UNIT_BYTES 2   /* bytes per instruction: tables count bytes */
#define NO_LINE	   128 /* 3.10: -128, as unsigned */

/* Finds the line by ranges (3.10): pairs of a range's bytes and the line's difference. */
static uint32_t find_range(struct table t, uint32_t line, uint64_t offset)
{
	uint64_t end = 0;

	for (; t.end - t.at >= 2; t.at += 2) {
		end += t.at[0];
		if (t.at[1] != NO_LINE)
			line += (uint32_t)(int8_t)t.at[1];
		if (offset < end)
			return t.at[1] == NO_LINE ? 0 : line;
	}
	return 0;
}

/* Finds the line by steps (before 3.10): pairs of bytes to the next line and its difference. */
static uint32_t find_step(struct table t, uint32_t line, uint64_t offset)
{
	uint64_t begin = 0;

	for (; t.end - t.at >= 2; t.at += 2) {
		begin += t.at[0];
		if (begin > offset)
			break;
		line += (uint32_t)(int8_t)t.at[1];
	}
	return line;
}

uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t n_bytes,
		     uint32_t first_line, uint32_t instruction)
{
	struct table t = { table, table + n_bytes };

	if (kind == PYTHON_LINES_LOCATIONS)
		return find_location(t, first_line, instruction);
	if (instruction >= INT32_MAX)
		return first_line;
	if (kind == PYTHON_LINES_RANGES)
		return find_range(t, first_line, (uint64_t)instruction * UNIT_BYTES);
	return find_step(t, first_line, (uint64_t)instruction * UNIT_BYTES);
}
