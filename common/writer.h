/* SPDX-License-Identifier: GPL-2.0-only */
/* Writers: a profile as text for people or as folded stacks for flame graphs. */
#ifndef WRITER_H
#define WRITER_H

#include <stdbool.h>
#include <stdio.h>

#include "profile.h"

struct writer_style {
	bool delimiter; /* -d: mark the border between kernel and user frames where both exist */
	bool annotate;	/* -a: kernel frames get "_[k]" */
};

struct writer {
	const char *name;      /* as in --format */
	const char *extension; /* of --output files: "txt", "folded" */
	/*
	 * Writes the whole profile, which it may sort; samples of value 0 are left out. Errors
	 * are left in the stream.
	 */
	void (*write)(FILE *f, struct profile *p, const struct writer_style *style);
};

extern const struct writer text_writer;
extern const struct writer folded_writer;

/*
 * For the writers themselves. The border is the index of the first kernel frame that is called by a
 * user frame; 0 where there is none. A frame's name is escaped, together with the bytes in `also`.
 */
size_t writer_border(const struct sample *s);
void writer_print_frame(FILE *f, const struct frame *frame, const struct writer_style *style,
			const char *also);

/* The writer of that --format name, or of that file's extension; NULL if there is none. */
const struct writer *writer_by_name(const char *name);
const struct writer *writer_by_extension(const char *path);

#endif
