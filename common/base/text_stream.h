/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Streams that are written to memory. open_memstream(3) of glibc loses text without an error
 * indicator when memory runs out; here each write succeeds or ends the process, as in mem.h.
 */
#ifndef TEXT_STREAM_H
#define TEXT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct text_stream {
	FILE *f;
	size_t size; /* bytes of the text, without its final NUL */
	/* Private. */
	char *text;
	size_t cap;
	bool has_failed;
};

void text_stream_open(struct text_stream *s);

/* Returns the text so far, valid until the next write; s->size is its size. */
const char *text_stream_text(struct text_stream *s);

/* Discards the text so far. */
void text_stream_restart(struct text_stream *s);

/* Returns the text, freed by the caller. */
char *text_stream_close(struct text_stream *s);

#endif
