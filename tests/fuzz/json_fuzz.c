// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines of JSON with arbitrary texts in them: each must be one value as RFC 8259 has it, in UTF-8,
 * on one line.
 */
#include <stdbool.h>

#include "base/escape.h"
#include "output/profile.h"
#include "output/writer.h"
#include "fuzz.h"

static const char *skip_value(const char *at);

static const char *expect(const char *at, char c)
{
	if (*at != c)
		abort();
	return at + 1;
}

static const char *skip_string(const char *at)
{
	at = expect(at, '"');
	while (*at != '"') {
		size_t n = escape_printable_bytes(at, NULL);

		if (!n)
			abort();
		if (*at == '\\' && at[1] == 'u' && strspn(at + 2, "0123456789abcdefABCDEF") < 4)
			abort();
		if (*at == '\\' && !strchr("\"\\/bfnrtu", at[1]))
			abort();
		at += *at == '\\' ? 2 : n;
	}
	return at + 1;
}

static const char *skip_members(const char *at, char end, bool has_keys)
{
	while (*++at != end) {
		if (has_keys)
			at = expect(skip_string(at), ':');
		at = skip_value(at);
		if (*at == end)
			break;
		if (*at != ',' || at[1] == end)
			abort();
	}
	return expect(at, end);
}

static const char *skip_value(const char *at)
{
	size_t n = strspn(at, "-+.0123456789eE");

	if (*at == '"')
		return skip_string(at);
	if (*at == '{' || *at == '[')
		return skip_members(at, *at == '{' ? '}' : ']', *at == '{');
	if (!n)
		abort();
	return at + n;
}

static void check_lines(const char *text)
{
	while (*text)
		text = expect(skip_value(text), '\n');
}

static char *write_json(const char *a, const char *b)
{
	struct profile *p = profile_new("samples", NULL, NULL);
	struct image image = { .name = b, .path = a, .build_id = "00ff" };
	struct frame frames[] = { { .name = a, .file = b, .line = 1, .symbol = b, .image = &image },
				  { .name = b, .kind = FRAME_KERNEL } };
	struct sample sample = {
		.comm = b, .pid = 1, .cpu = -1, .frames = frames, .n_frames = 2, .value = 1
	};
	struct writer_style style = {};
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	profile_add(p, &sample);
	json_writer.write(f, p, &style);
	fclose(f);
	profile_free(p);
	return text;
}

FUZZ(bytes, size)
{
	char *a = mem_strndup((const char *)bytes, size / 2);
	char *b = mem_strndup((const char *)bytes + size / 2, size - size / 2);
	char *text = write_json(a, b);

	check_lines(text);
	free(text);
	free(a);
	free(b);
	return 0;
}
