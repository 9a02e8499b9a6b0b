/* SPDX-License-Identifier: GPL-2.0-only */
/* Writers of profiles: text for people, a flame graph, or formats of other programs. */
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
	const struct sample_period *period; /* sampling period; NULL: nothing was sampled */
	/* type of the values in pprof; NULL: derived from their unit */
	const char *type;
	uint64_t end_unix_ns; /* end of the report's window, wall clock */
	uint64_t duration_ns;
	uint64_t lost;	 /* losses, in the profile's unit */
	bool gets_note;	 /* writer_note() follows */
	bool has_stacks; /* user stacks were walked; complete: their share, in percent */
	double complete;
	const char *process; /* name of a traced process; NULL: unknown, or several */
	uint32_t process_pid;
	const char *usage; /* lines about memory, faults and threads; NULL: unknown */
	uint64_t cut_ns;   /* events were dropped up to this time of the window; 0: none */
};

struct writer_style {
	bool delimiter; /* -d: separate user from kernel frames in stacks with both */
	bool annotate;	/* -a: append "_[k]" to kernel, "_[i]" to inlined, "_[j]" to JIT frames */
	const struct writer_facts *facts; /* NULL: none */
	bool has_head; /* an earlier report has written the titles of columns to this file */

	/* called repeatedly while stacks are written; may be NULL */
	void (*meanwhile)(void *arg);
	void *arg;
};

struct writer {
	const char *name;      /* name for --format */
	const char *extension; /* extension of --output files: "txt", "folded", "svg", "pb.gz" */
	bool is_page;	       /* a page: shows facts.usage, separates [blocked throughout] */
	bool is_single;	       /* a file has one report */
	bool in_time;	       /* needs profile_events() of single threads */
	bool is_exact;	       /* needs frames with locations, and values without profile_scale() */
	/*
	 * Writes the whole profile, which it may sort, without samples of value 0 (pprof: and
	 * without values in columns). Write errors stay in the stream (ferror(3)).
	 */
	void (*write)(FILE *f, struct profile *p, const struct writer_style *style);
	/* Appends a note to a complete file; NULL: the format has none. */
	void (*note)(FILE *f, const char *reason, const char *moment);
};

extern const struct writer text_writer;
extern const struct writer folded_writer;
extern const struct writer svg_writer;
extern const struct writer pprof_writer;
extern const struct writer json_writer;
extern const struct writer csv_writer;
extern const struct writer md_writer;
extern const struct writer html_writer;
extern const struct writer firefox_writer;
extern const struct writer heatmap_writer;

/*
 * For writers. writer_border() returns the index of the first kernel frame called by a user frame;
 * 0: none. writer_frame_text() returns a frame's name, with its source line if known, freed by the
 * caller; writer_print_frame() prints it, escaped including the bytes in `also`.
 */
size_t writer_border(const struct sample *s);
char *writer_frame_text(const struct frame *frame);
void writer_print_frame(FILE *f, const struct frame *frame, const struct writer_style *style,
			const char *also);

/* Returns true if the stack is an idle thread's. */
bool writer_is_idle(const struct sample *s);

/*
 * Writes an <svg> element for HTML of at most max_bytes: a flame graph of the samples that takes()
 * returns true for (NULL: all). part: their name, for the title; NULL: none. max_bytes 0: an SVG
 * document, without a limit.
 */
void svg_write_part(FILE *f, struct profile *p, const struct writer_style *style, const char *part,
		    bool (*takes)(const struct sample *s), size_t max_bytes);

/*
 * For pictures. svg_add_frames() adds a sample's frames above a node, then "[state]" (NULL: none),
 * and returns the node of the last one. svg_subtitle() returns "host, Linux 6.12.9, cpu-clock at 99
 * Hz, 10.00 s, lost: 12 samples", freed by the caller; NULL: no facts.
 */
struct calltree;
uint32_t svg_add_frames(struct calltree *tree, uint32_t node, const struct sample *s,
			const char *state);
char *svg_subtitle(const struct writer_facts *facts, const char *unit);

/*
 * Print a sample's frames: as lines of text, leaf first; and, as print functions of a table's
 * column, in one line of CSV, root first, and as a member of a JSON object.
 */
struct json;
void writer_print_lines(FILE *f, const struct sample *s, const struct writer_style *style);
void writer_print_frames(FILE *f, const void *sample);
void writer_print_json_frames(struct json *json, const void *sample);

/* Prints a capture's reason as a comment, escaped including the bytes in `also`; NULL: none. */
void writer_note_line(FILE *f, const char *reason, const char *moment, const char *also);

/* Called by writers before they write sample i: calls `meanwhile` now and then. */
void writer_pause(const struct writer_style *style, size_t i);

/* Prints JSON's line about the run. */
void writer_print_facts(FILE *f, const struct writer_facts *facts, const char *unit);

/*
 * Appends to a complete file of this format why and when it was captured, unless the format has no
 * notes. For pprof, the facts must have announced it.
 */
void writer_note(FILE *f, const char *format, const char *reason, uint64_t unix_ns);

/* Returns the formats' names, for messages: "text, md, ... or firefox". */
const char *writer_names(void);

/* Return the writer of a --format name, or for a file's extension; NULL: none. */
const struct writer *writer_by_name(const char *name);
const struct writer *writer_by_extension(const char *path);

#endif
