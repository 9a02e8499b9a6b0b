// SPDX-License-Identifier: GPL-2.0-only
/* Tables as metrics: columns with a label select a series, columns with a metric add to it. */
#include <inttypes.h>

#include "output/table.h"

#define LABEL_BYTES 24

struct labels {
	struct metric_labels list;
	char numbers[METRICS_MAX_LABELS][LABEL_BYTES];
};

static void add_label(struct labels *labels, const char *name, const char *value)
{
	struct metric_labels *list = &labels->list;

	list->names[list->n] = name;
	list->values[list->n++] = value ?: "";
}

static void add_cell(struct labels *labels, const struct table_column *column,
		     const struct cell *cell)
{
	char *number = labels->numbers[labels->list.n];

	if (column->kind != CELL_UINT) {
		add_label(labels, column->label, cell->text);
		return;
	}
	snprintf(number, LABEL_BYTES, "%" PRIu64, cell->n);
	add_label(labels, column->label, number);
}

/*
 * Adds a cell's value. A count of 0 creates no series, unless the series has no labels of its row.
 */
static void add_value(struct metrics *metrics, const struct table *table,
		      const struct table_column *column, const struct cell *cells)
{
	const struct cell *cell = &cells[column - table->columns];
	struct labels labels = {};
	size_t n_own = column->severity ? 1 : 0;

	if (column->severity)
		add_label(&labels, "severity", column->severity);
	for (size_t i = 0; i < table->n; i++)
		if (table_shows(table, i) && table->columns[i].label)
			add_cell(&labels, &table->columns[i], &cells[i]);
	if (column->kind == CELL_HIST && cell->hist)
		metrics_add_hist(metrics, column->metric, &labels.list, cell->hist);
	else if (column->kind != CELL_HIST && (cell->n || labels.list.n == n_own))
		metrics_add(metrics, column->metric, &labels.list, cell->n);
}

static void add_row(struct table_output *to, const struct table *table, const struct cell *cells)
{
	for (size_t i = 0; i < table->n; i++)
		if (table_shows(table, i) && table->columns[i].metric)
			add_value(to->metrics, table, &table->columns[i], cells);
}

const struct table_format metrics_table = {
	.name = "prometheus", .extension = "prom", .has_totals = true, .row = add_row
};
