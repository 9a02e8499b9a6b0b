// SPDX-License-Identifier: GPL-2.0-only
/* JSON; see json.h. */
#include <inttypes.h>

#include "base/escape.h"
#include "output/json.h"

static void print_byte(FILE *f, unsigned char c)
{
	if (c == '"' || c == '\\')
		fprintf(f, "\\%c", c);
	else if (c < 0x80)
		fprintf(f, "\\u%04x", c);
	else
		fprintf(f, "\\\\x%02x", c);
}

static void print_string(FILE *f, const char *s)
{
	fputc('"', f);
	while (*s) {
		size_t run = escape_printable_run(s, "\"\\");

		fwrite(s, 1, run, f);
		s += run;
		if (*s)
			print_byte(f, (unsigned char)*s++);
	}
	fputc('"', f);
}

static void begin_member(struct json *json, const char *key)
{
	if (json->has_members)
		fputc(',', json->f);
	json->has_members = true;
	if (!key)
		return;
	fputc('"', json->f);
	fputs(key, json->f);
	fputs("\":", json->f);
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin_member(json, key);
	fputc(bracket, json->f);
	json->has_members = false;
}

void json_close(struct json *json, char bracket)
{
	fputc(bracket, json->f);
	json->has_members = true;
}

struct json json_begin_line(FILE *f, const char *type)
{
	struct json json = { .f = f };

	json_open(&json, NULL, '{');
	json_text(&json, "type", type);
	return json;
}

void json_end_line(struct json *json)
{
	json_close(json, '}');
	fputc('\n', json->f);
}

void json_text(struct json *json, const char *key, const char *text)
{
	if (!text)
		return;
	begin_member(json, key);
	print_string(json->f, text);
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
	begin_member(json, key);
	fprintf(json->f, "%" PRIu64, value);
}

/* Writes 15 digits: totals of binary fractions are exact. */
void json_number(struct json *json, const char *key, double value)
{
	begin_member(json, key);
	fprintf(json->f, "%.15g", value);
}

void json_raw(struct json *json, const char *key, const char *text)
{
	begin_member(json, key);
	fputs(text, json->f);
}
