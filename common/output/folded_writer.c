// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folded stacks: one line per stack, root first, as flame graph programs read them. A line does not
 * contain all properties of a sample (for example its pid), so samples with equal text are merged:
 * some readers use only the last of several equal lines. Texts are generated when needed, since all
 * of them take many times the memory of the samples.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text_stream.h"
#include "output/folded.h"
#include "output/writer.h"

/* Samples with the same text. */
struct line {
	const struct sample *sample; /* one of these samples */
	uint64_t hash, value;
};

struct folding {
	const struct writer_style *style;
	struct line *lines;
	size_t n;
	struct text_stream text, other;
};

static void print_stack(FILE *f, const struct sample *s, const struct writer_style *style)
{
	size_t border = style->delimiter ? writer_border(s) : 0;

	if (s->cpu >= 0)
		fprintf(f, "cpu%d;", s->cpu);
	if (s->tid)
		fprintf(f, "tid%" PRIu32 ";", s->tid);
	folded_print_root(f, escape_no_name(s->comm));
	for (size_t i = 0; i < s->n_frames; i++) {
		fputs(border && i == border ? ";-;" : ";", f);
		writer_print_frame(f, sample_frame(s, i), style, ";");
	}
	if (s->remark) {
		fputs(";[", f);
		escape_print(f, s->remark, ";");
		fputc(']', f);
	}
}

/* Returns the sample's text, valid until the stream's next use. */
static const char *make_text(const struct folding *folding, struct text_stream *to,
			     const struct sample *s)
{
	text_stream_restart(to);
	print_stack(to->f, s, folding->style);
	return text_stream_text(to);
}

static void list_lines(struct folding *folding, const struct profile *p)
{
	folding->n = profile_count(p);
	folding->lines = mem_zalloc(folding->n, sizeof(*folding->lines));
	for (size_t i = 0; i < folding->n; i++) {
		const struct sample *s = profile_sample(p, i);

		folding->lines[i] = (struct line){
			.sample = s,
			.hash = hash_text(make_text(folding, &folding->text, s)),
			.value = s->value,
		};
	}
}

static int compare_hash(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return order_u64(x->hash, y->hash);
}

/* Orders equal values by their stacks, so that output is stable. */
static int compare_value(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = order_u64(y->value, x->value) ?: sample_compare_stacks(x->sample, y->sample);

	return order ?: order_u64(x->hash, y->hash);
}

static bool is_same(struct folding *folding, const struct line *a, const struct line *b)
{
	return a->hash == b->hash && !strcmp(make_text(folding, &folding->text, a->sample),
					     make_text(folding, &folding->other, b->sample));
}

/* Merges equal lines, with the total of their values. */
static void merge_lines(struct folding *folding)
{
	struct line *lines = folding->lines;
	size_t kept = 0;

	SORT(lines, folding->n, compare_hash);
	for (size_t i = 0; i < folding->n; i++) {
		if (kept && is_same(folding, &lines[kept - 1], &lines[i]))
			lines[kept - 1].value += lines[i].value;
		else
			lines[kept++] = lines[i];
	}
	SORT(lines, kept, compare_value);
	folding->n = kept;
}

static void write_folded(FILE *f, struct profile *p, const struct writer_style *style)
{
	struct folding folding = { .style = style };

	text_stream_open(&folding.text);
	text_stream_open(&folding.other);
	list_lines(&folding, p);
	merge_lines(&folding);
	for (size_t i = 0; i < folding.n && folding.lines[i].value; i++) {
		print_stack(f, folding.lines[i].sample, style);
		fprintf(f, " %" PRIu64 "\n", folding.lines[i].value);
	}
	free(text_stream_close(&folding.text));
	free(text_stream_close(&folding.other));
	free(folding.lines);
}

/* Escapes ';': a line that contains one is read as a stack. */
static void note_folded(FILE *f, const char *reason, const char *moment)
{
	writer_note_line(f, reason, moment, ";");
}

const struct writer folded_writer = {
	.name = "folded",
	.extension = "folded",
	.write = write_folded,
	.note = note_folded,
};
