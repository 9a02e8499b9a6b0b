// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks in the format of BCC's tools: leaf first, then the task, then the value. The smallest
 * values come first, because the end of a long report stays on the screen.
 */
#include <inttypes.h>

#include "base/escape.h"
#include "output/writer.h"

void writer_print_lines(FILE *f, const struct sample *s, const struct writer_style *style)
{
	size_t border = style->delimiter ? writer_border(s) : 0;

	for (size_t i = s->n_frames; i-- > 0;) {
		fputs("    ", f);
		writer_print_frame(f, sample_frame(s, i), style, NULL);
		fputc('\n', f);
		if (border && i == border)
			fputs("    --\n", f);
	}
}

static void print_task(FILE *f, const struct sample *s)
{
	fprintf(f, "    %-16s ", "-");
	escape_print(f, escape_no_name(s->comm), NULL);
	if (s->pid != SAMPLE_ANY_PID)
		fprintf(f, " (%" PRIu32 ")", s->pid);
	if (s->tid)
		fprintf(f, " tid %" PRIu32, s->tid);
	if (s->cpu >= 0)
		fprintf(f, " cpu %d", s->cpu);
	if (s->state)
		fprintf(f, " %c", s->state);
	if (s->remark) {
		fputs(" [", f);
		escape_print(f, s->remark, NULL);
		fputc(']', f);
	}
	fputc('\n', f);
}

static void print_value(FILE *f, const struct profile *p, const struct sample *s)
{
	const struct column *column;

	fprintf(f, "        %" PRIu64, s->value);
	for (size_t i = 0; (column = profile_column(p, i)); i++)
		if (column->rest && s->columns[i])
			fprintf(f, " (%s %" PRIu64 ", %s %" PRIu64 ")", column->rest,
				s->value - s->columns[i], column->name, s->columns[i]);
	fputs("\n\n", f);
}

static void write_text(FILE *f, struct profile *p, const struct writer_style *style)
{
	profile_sort(p);
	for (size_t i = profile_count(p); i-- > 0;) {
		const struct sample *s = profile_sample(p, i);

		writer_pause(style, i);
		if (!s->value)
			continue;
		writer_print_lines(f, s, style);
		print_task(f, s);
		print_value(f, p, s);
	}
}

static void note_text(FILE *f, const char *reason, const char *moment)
{
	writer_note_line(f, reason, moment, NULL);
}

const struct writer text_writer = {
	.name = "text", .extension = "txt", .write = write_text, .note = note_text
};
