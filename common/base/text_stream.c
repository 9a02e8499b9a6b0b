// SPDX-License-Identifier: GPL-2.0-only
/* Streams that are written to memory; see text_stream.h. */
#include <string.h>

#include "base/mem.h"
#include "base/text_stream.h"

#define FIRST_BYTES 256

static void grow_text(struct text_stream *s, size_t n)
{
	s->cap = 2 * (s->cap + n);
	s->has_failed = true; /* exit() flushes the stream once more */
	s->text = mem_realloc(s->text, s->cap, 1);
	s->has_failed = false;
}

static ssize_t write_text(void *cookie, const char *part, size_t n)
{
	struct text_stream *s = cookie;

	if (s->has_failed)
		return (ssize_t)n;
	if (n >= s->cap - s->size)
		grow_text(s, n);
	memcpy(s->text + s->size, part, n);
	s->size += n;
	s->text[s->size] = '\0';
	return (ssize_t)n;
}

void text_stream_open(struct text_stream *s)
{
	*s = (struct text_stream){ .cap = FIRST_BYTES, .text = mem_zalloc(FIRST_BYTES, 1) };
	s->f = mem_check(fopencookie(s, "w", (cookie_io_functions_t){ .write = write_text }));
}

const char *text_stream_text(struct text_stream *s)
{
	fflush(s->f);
	return s->text;
}

void text_stream_restart(struct text_stream *s)
{
	fflush(s->f);
	s->size = 0;
	s->text[0] = '\0';
}

char *text_stream_close(struct text_stream *s)
{
	fclose(s->f);
	return s->text;
}
