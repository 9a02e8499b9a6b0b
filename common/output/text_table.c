// SPDX-License-Identifier: GPL-2.0-only
/* Tables for people: columns of fixed width with a blank in between; histograms as paragraphs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/mem.h"
#include "output/table.h"

#define CELL_BYTES 64 /* maximum bytes of a number, or of an escaped comm */

/* Formats nanoseconds in at most six characters: "512ns", "3.42us", "12.3ms", "120s". */
static void format_span(char *buf, size_t size, double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;
	int decimals;

	while (unit < ARRAY_SIZE(units) - 1 && ns >= 999.5) {
		ns /= 1000;
		unit++;
	}
	decimals = unit == 0 || ns >= 99.95 ? 0 : ns >= 9.995 ? 1 : 2;
	snprintf(buf, size, "%.*f%s", decimals, ns, units[unit]);
}

/* Returns the cell's text, freed by the caller. */
static char *cell_text(const struct table *table, enum cell_kind kind, const struct cell *cell)
{
	char text[CELL_BYTES] = "-";

	if (kind == CELL_TEXT)
		return mem_escape(cell->text ?: "?");
	if (kind == CELL_COMM)
		return mem_escape(escape_no_name(cell->text));
	if (cell->is_unknown)
		return mem_strdup(text);
	if (kind == CELL_TIME)
		snprintf(text, sizeof(text), "%s%.*f", cell->mark ?: "", table->in_ms ? 6 : 3,
			 (double)cell->n / (table->in_ms ? NS_PER_MS : NS_PER_US));
	else if (kind == CELL_SPAN)
		format_span(text, sizeof(text), cell->x);
	else
		snprintf(text, sizeof(text), "%" PRIu64, cell->n);
	return mem_strdup(text);
}

static bool has_title(const struct table *table, size_t i)
{
	return table_shows(table, i) && table->columns[i].title;
}

/* ---- lines ---- */

/* A line of columns. Blanks after a column are printed only if another column follows. */
struct line {
	FILE *f;
	unsigned int width; /* columns so far, including pending blanks */
	int n_blanks;
};

/* Returns true if the column has a title, and it and all columns before it fit; adds its width. */
static bool take_column(struct line *line, const struct table *table, size_t i)
{
	unsigned int width = (unsigned int)abs(table->columns[i].width) + 1;

	if (!has_title(table, i))
		return false;
	line->width += width;
	return !table->max_width || line->width <= table->max_width + 1;
}

static void print_column(struct line *line, int width, const char *text)
{
	if (!*text) {
		line->n_blanks += abs(width) + 1;
		return;
	}
	fprintf(line->f, "%*s%*s", line->n_blanks, "", width > 0 ? width : 0, text);
	line->n_blanks = 1;
	if (width < 0 && strlen(text) < (size_t)-width)
		line->n_blanks += -width - (int)strlen(text);
}

static void print_title(struct line *line, const struct table *table,
			const struct table_column *column)
{
	char title[CELL_BYTES];

	snprintf(title, sizeof(title), "%s%s", column->title,
		 column->kind != CELL_TIME ? ""
		 : table->in_ms		   ? " (ms)"
					   : " (us)");
	print_column(line, column->width, title);
}

static void print_line(FILE *f, const struct table *table, const struct cell *cells)
{
	struct line line = { .f = f };

	for (size_t i = 0; i < table->n; i++) {
		const struct table_column *column = &table->columns[i];
		char *text;

		if (!take_column(&line, table, i))
			continue;
		if (!cells) {
			print_title(&line, table, column);
			continue;
		}
		text = cell_text(table, column->kind, &cells[i]);
		print_column(&line, column->width, text);
		free(text);
	}
	fputc('\n', f);
}

/* ---- paragraphs ---- */

/* Returns the column with the table's histogram; -1: none. */
static int find_histogram(const struct table *table)
{
	for (size_t i = 0; i < table->n; i++)
		if (table_shows(table, i) && table->columns[i].kind == CELL_HIST)
			return (int)i;
	return -1;
}

/*
 * Prints "pid = 1 init, syscall = read". A column with an empty title is printed without its name.
 */
static void print_heading(FILE *f, const struct table *table, const struct cell *cells)
{
	const char *before = "\n";

	for (size_t i = 0; i < table->n; i++) {
		const struct table_column *column = &table->columns[i];
		char *text;

		if (!has_title(table, i))
			continue;
		if (column->kind != CELL_COMM && *column->title)
			fprintf(f, "%s%s = ", before, column->name ?: column->title);
		text = cell_text(table, column->kind, &cells[i]);
		fprintf(f, "%s%s", text, column->kind == CELL_UINT ? " " : "");
		before = ", ";
		free(text);
	}
	if (*before == ',')
		fputc('\n', f);
}

/* ---- the format ---- */

static void print_head(struct table_output *to, const struct table *table)
{
	if (find_histogram(table) < 0)
		print_line(to->f, table, NULL);
}

static void print_row(struct table_output *to, const struct table *table, const struct cell *cells)
{
	int hist = find_histogram(table);

	if (hist >= 0) {
		print_heading(to->f, table, cells);
		hist_print(to->f, cells[hist].hist, table->unit);
		return;
	}
	print_line(to->f, table, cells);
	for (size_t i = 0; i < table->n; i++)
		if (table_shows(table, i) && table->columns[i].print)
			table->columns[i].print(to->f, cells[i].data);
}

const struct table_format text_table = {
	.name = "text", .extension = "txt", .head = print_head, .row = print_row
};
