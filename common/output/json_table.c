// SPDX-License-Identifier: GPL-2.0-only
/* Tables as lines of JSON. */
#include "output/table.h"

static void print_hist(struct json *json, const struct table *table,
		       const struct table_column *column, const struct hist *hist)
{
	if (!column->name) {
		hist_print_json(json, hist, table->unit);
		return;
	}
	json_open(json, column->name, '{');
	hist_print_json(json, hist, table->unit);
	json_close(json, '}');
}

static void print_number(struct json *json, const struct table_column *column,
			 const struct cell *cell)
{
	if (column->kind != CELL_SPAN)
		json_uint(json, column->name, cell->n);
	else
		json_number(json, column->name, cell->x);
}

static void print_member(struct json *json, const struct table *table,
			 const struct table_column *column, const struct cell *cell)
{
	if (cell->is_unknown)
		return;
	if (column->kind == CELL_HIST && cell->hist)
		print_hist(json, table, column, cell->hist);
	else if (column->print_json)
		column->print_json(json, cell->data);
	else if (!column->name || column->kind == CELL_HIST)
		return;
	else if (column->kind == CELL_COMM)
		json_text(json, column->name, cell->text);
	else if (column->kind == CELL_TEXT)
		json_text(json, column->name, cell->text && *cell->text ? cell->text : NULL);
	else
		print_number(json, column, cell);
}

static void print_row(struct table_output *to, const struct table *table, const struct cell *cells)
{
	struct json json = json_begin_line(to->f, table->type);

	for (size_t i = 0; i < table->n; i++)
		if (table_shows(table, i))
			print_member(&json, table, &table->columns[i], &cells[i]);
	json_end_line(&json);
}

const struct table_format json_table = { .name = "json", .extension = "json", .row = print_row };
