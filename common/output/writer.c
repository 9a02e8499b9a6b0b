// SPDX-License-Identifier: GPL-2.0-only
/* The list of writers, and shared helpers. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/path.h"
#include "output/writer.h"

#define SAMPLES_AT_ONCE 64

/* A writer whose extension ends with another writer's comes before that one. */
static const struct writer *const writers[] = {
	&text_writer, &md_writer,    &html_writer,    &folded_writer, &heatmap_writer,
	&svg_writer,  &pprof_writer, &firefox_writer, &json_writer,   &csv_writer,
};

const char *writer_names(void)
{
	return "text, md, html, folded, svg, pprof, json, csv, firefox or heatmap";
}

const struct writer *writer_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
		if (!strcmp(writers[i]->name, name))
			return writers[i];
	return NULL;
}

const struct writer *writer_by_extension(const char *path)
{
	const char *file = path_last(path);
	size_t length = strlen(file), n;

	/* A hidden file's name, such as ".svg", is not an extension. */
	for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
		n = strlen(writers[i]->extension);
		if (length > n + 1 && file[length - n - 1] == '.' &&
		    !strcmp(file + length - n, writers[i]->extension))
			return writers[i];
	}
	return NULL;
}

static bool is_user(enum frame_kind kind)
{
	return kind == FRAME_USER || kind == FRAME_INLINED || kind == FRAME_JIT ||
	       kind == FRAME_RUNTIME;
}

void writer_pause(const struct writer_style *style, size_t i)
{
	if (style->meanwhile && i % SAMPLES_AT_ONCE == 0)
		style->meanwhile(style->arg);
}

bool writer_is_idle(const struct sample *s)
{
	return s->n_frames && !strcmp(sample_frame(s, s->n_frames - 1)->name, "[idle]");
}

size_t writer_border(const struct sample *s)
{
	for (size_t i = 1; i < s->n_frames; i++)
		if (is_user(sample_frame(s, i - 1)->kind) &&
		    sample_frame(s, i)->kind == FRAME_KERNEL)
			return i;
	return 0;
}

void writer_note_line(FILE *f, const char *reason, const char *moment, const char *also)
{
	fprintf(f, "# captured at %s: ", moment);
	escape_print(f, reason, also);
	fputc('\n', f);
}

char *writer_frame_text(const struct frame *frame)
{
	if (!frame->file)
		return mem_strdup(frame->name);
	if (!frame->line)
		return mem_printf("%s (%s)", frame->name, path_source(frame->file));
	return mem_printf("%s (%s:%u)", frame->name, path_source(frame->file), frame->line);
}

void writer_print_frame(FILE *f, const struct frame *frame, const struct writer_style *style,
			const char *also)
{
	static const char *const suffixes[] = {
		[FRAME_INLINED] = "_[i]", [FRAME_JIT] = "_[j]", [FRAME_RUNTIME] = "_[p]",
		[FRAME_KERNEL] = "_[k]",  [FRAME_MARK] = NULL,
	};

	char *text = writer_frame_text(frame);

	escape_print(f, text, also);
	free(text);
	if (style->annotate && suffixes[frame->kind])
		fputs(suffixes[frame->kind], f);
}

void writer_note(FILE *f, const char *format, const char *reason, uint64_t unix_ns)
{
	const struct writer *writer = writer_by_name(format);
	char moment[CLOCK_UTC_SIZE];

	if (writer && writer->note)
		writer->note(f, reason, clock_utc(moment, unix_ns));
}
