// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folded stacks: one line per stack, root first, as flame graph programs read them. A line does not
 * say everything about a sample (not its pid, for one), so lines are made first and merged by their
 * text: some readers take the last of several equal lines for the whole.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/msg.h"
#include "output/escape.h"
#include "output/writer.h"

struct line {
	const char *text;
	uint64_t value;
};

static void print_stack(FILE *f, const struct sample *s, const struct writer_style *style)
{
	size_t border = style->delimiter ? writer_border(s) : 0;

	if (s->cpu >= 0)
		fprintf(f, "cpu%d;", s->cpu);
	escape_print(f, s->comm, ";");
	for (size_t i = 0; i < s->n_frames; i++) {
		fputs(border && i == border ? ";-;" : ";", f);
		writer_print_frame(f, &s->frames[i], style, ";");
	}
	if (s->remark) {
		fputs(";[", f);
		escape_print(f, s->remark, ";");
		fputc(']', f);
	}
}

static void check_memory(bool ok)
{
	if (!ok) {
		msg_error("out of memory");
		exit(1);
	}
}

/* The text of all lines, each with its terminator, in the profile's order. */
static char *print_stacks(const struct profile *p, const struct writer_style *style)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	check_memory(f);
	for (size_t i = 0; i < profile_count(p); i++) {
		print_stack(f, profile_sample(p, i), style);
		fputc('\0', f);
	}
	check_memory(!ferror(f));
	check_memory(!fclose(f));
	return text;
}

static int compare_text(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static int compare_value(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return strcmp(x->text, y->text);
}

/* Equal lines become one with the sum of their values. Returns the number left. */
static size_t merge_lines(struct line *lines, size_t n)
{
	size_t kept = 0;

	qsort(lines, n, sizeof(*lines), compare_text);
	for (size_t i = 0; i < n; i++) {
		if (kept && !strcmp(lines[kept - 1].text, lines[i].text))
			lines[kept - 1].value += lines[i].value;
		else
			lines[kept++] = lines[i];
	}
	qsort(lines, kept, sizeof(*lines), compare_value);
	return kept;
}

static void write_folded(FILE *f, struct profile *p, const struct writer_style *style)
{
	char *text = print_stacks(p, style), *next = text;
	size_t n = profile_count(p);
	struct line *lines = mem_zalloc(n, sizeof(*lines));

	for (size_t i = 0; i < n; i++) {
		lines[i].text = next;
		lines[i].value = profile_sample(p, i)->value;
		next += strlen(next) + 1;
	}
	n = merge_lines(lines, n);
	for (size_t i = 0; i < n && lines[i].value; i++)
		fprintf(f, "%s %" PRIu64 "\n", lines[i].text, lines[i].value);
	free(lines);
	free(text);
}

const struct writer folded_writer = {
	.name = "folded",
	.extension = "folded",
	.write = write_folded,
};
