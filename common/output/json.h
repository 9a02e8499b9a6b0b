/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON (RFC 8259), one object per line. Texts may contain any bytes: C1 controls and bytes that are
 * not valid UTF-8 become \xNN as in all our output, with the backslash escaped for JSON.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *f;
	bool has_members; /* the open object or list has members */
};

/* Begins a line's object; type becomes its first member. */
struct json json_begin_line(FILE *f, const char *type);
void json_end_line(struct json *json);

/*
 * Opens a nested object '{' or list '['; key NULL: an item of a list. json_close() needs the
 * matching bracket.
 */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

/* Write members. A NULL string is omitted. */
void json_text(struct json *json, const char *key, const char *text);
void json_uint(struct json *json, const char *key, uint64_t value);
void json_number(struct json *json, const char *key, double value);
void json_raw(struct json *json, const char *key, const char *text); /* "null", "false" */

#endif
