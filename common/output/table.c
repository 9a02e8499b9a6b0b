// SPDX-License-Identifier: GPL-2.0-only
/* The list of formats of numbers. */
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "output/table.h"

static const struct table_format *const formats[] = { &text_table, &json_table, &csv_table,
						      &metrics_table };

void table_head(struct table_output *to, const struct table *table)
{
	if (to->format->head)
		to->format->head(to, table);
}

void table_row(struct table_output *to, const struct table *table, const struct cell *cells)
{
	to->format->row(to, table, cells);
}

const struct table_format *table_format_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

const struct table_format *table_format_by_extension(const char *path)
{
	const char *dot = strrchr(path_last(path), '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i]->extension, dot + 1))
			return formats[i];
	return NULL;
}
