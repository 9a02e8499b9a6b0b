/* SPDX-License-Identifier: GPL-2.0-only */
/* Writers: a profile as text for people, as a picture, or as what other programs read. */
#ifndef WRITER_H
#define WRITER_H

#include <stdbool.h>
#include <stdio.h>

#include "output/profile.h"

/* Facts about the run, for the head of a result. */
struct writer_facts {
	const char *tool;
	const char *host, *kernel;
	const char *event; /* sampled event, such as "cpu-clock at 99 Hz"; NULL: none */
	const struct sample_period *period; /* NULL: nothing was sampled */
	/* type of the values in pprof; NULL: derived from their unit */
	const char *type;
	uint64_t end_unix_ns; /* end of the window, by the wall clock */
	uint64_t duration_ns;
	uint64_t lost; /* losses, in the profile's unit */
};

struct writer_style {
	bool delimiter; /* -d: mark the border between kernel and user frames where both exist */
	bool annotate;	/* -a: "_[k]" after kernel frames, "_[i]" inlined ones, "_[j]" a JIT's */
	const struct writer_facts *facts; /* NULL: none */
	bool has_head; /* the file has an earlier report, with titles of columns */

	/* called now and then while stacks are written; may be NULL */
	void (*meanwhile)(void *arg);
	void *arg;
};

struct writer {
	const char *name;      /* as in --format */
	const char *extension; /* extension of --output files: "txt", "folded", "svg", "pb.gz" */
	bool is_exact;	       /* needs frames with their locations, and undivided values */
	/*
	 * Writes the whole profile, which it may sort; samples of value 0 are left out. Errors
	 * are left in the stream.
	 */
	void (*write)(FILE *f, struct profile *p, const struct writer_style *style);
};

extern const struct writer text_writer;
extern const struct writer folded_writer;
extern const struct writer svg_writer;
extern const struct writer pprof_writer;
extern const struct writer json_writer;
extern const struct writer csv_writer;

/*
 * For the writers themselves. The border is the index of the first kernel frame that is called by a
 * user frame; 0 if there is none. A frame's text is its name, and its source line if it is
 * known, to be freed. It is printed escaped, together with the bytes in `also`.
 */
size_t writer_border(const struct sample *s);
char *writer_frame_text(const struct frame *frame);
void writer_print_frame(FILE *f, const struct frame *frame, const struct writer_style *style,
			const char *also);

/* Called before the sample with that index is written. */
void writer_pause(const struct writer_style *style, size_t i);

/* JSON's line about the run. */
void writer_print_facts(FILE *f, const struct writer_facts *facts, const char *unit);

/* Returns the formats' names, for messages: "text, folded, svg, pprof, json or csv". */
const char *writer_names(void);

/* Returns the writer of that --format name, or of that file's extension; NULL if there is none. */
const struct writer *writer_by_name(const char *name);
const struct writer *writer_by_extension(const char *path);

#endif
