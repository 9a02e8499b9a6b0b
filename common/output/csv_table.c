// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables as CSV, fields quoted as in RFC 4180: one header per file, then a line for each row, which
 * begins with its type and the report's window. Column names are those of JSON.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "output/table.h"

static void print_text(FILE *f, const char *text)
{
	char *shown = mem_escape(text);
	bool is_quoted = strpbrk(shown, ",\"");

	if (is_quoted)
		fputc('"', f);
	for (const char *c = shown; *c; c++) {
		if (*c == '"')
			fputc('"', f);
		fputc(*c, f);
	}
	if (is_quoted)
		fputc('"', f);
	free(shown);
}

static bool is_in_row(const struct table_column *column)
{
	return column->kind == CELL_HIST ? !column->name : column->name != NULL;
}

static void print_head(struct table_output *to, const struct table *table)
{
	uint32_t shown = table->shown | table->elsewhere;

	if (to->has_head)
		return;
	to->has_head = true;
	fputs(to->duration_ns ? "type,start_unix_ns,duration_ns" : "type", to->f);
	for (size_t i = 0; i < table->n; i++) {
		if (!(shown & TABLE_COLUMN(i)) || !is_in_row(&table->columns[i]))
			continue;
		if (table->columns[i].name)
			fprintf(to->f, ",%s", table->columns[i].name);
		else
			hist_print_csv_head(to->f);
	}
	fputc('\n', to->f);
}

static void print_cell(FILE *f, const struct table *table, const struct table_column *column,
		       const struct cell *cell)
{
	enum cell_kind kind = column->kind;

	if (kind == CELL_HIST) {
		hist_print_csv(f, cell->hist, table->unit);
		return;
	}
	fputc(',', f);
	if (kind == CELL_NESTED) {
		fputc('"', f);
		column->print(f, cell->data);
		fputc('"', f);
	} else if (kind == CELL_TEXT || kind == CELL_COMM) {
		print_text(f, cell->text ?: "");
	} else if (!cell->is_unknown) {
		if (kind == CELL_SPAN)
			fprintf(f, "%.15g", cell->x);
		else
			fprintf(f, "%" PRIu64, cell->n);
	}
}

static void print_row(struct table_output *to, const struct table *table, const struct cell *cells)
{
	print_head(to, table);
	fputs(table->type, to->f);
	if (to->duration_ns)
		fprintf(to->f, ",%" PRIu64 ",%" PRIu64, to->start_unix_ns, to->duration_ns);
	for (size_t i = 0; i < table->n; i++) {
		if (!is_in_row(&table->columns[i]))
			continue;
		if (table_shows(table, i))
			print_cell(to->f, table, &table->columns[i], &cells[i]);
		else if (table->elsewhere & TABLE_COLUMN(i))
			fputc(',', to->f);
	}
	fputc('\n', to->f);
}

const struct table_format csv_table = {
	.name = "csv", .extension = "csv", .head = print_head, .row = print_row
};
