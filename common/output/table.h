/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers in rows. A tool declares its columns as constant data and hands over each row once, as
 * cells; a format writes it: text, JSON, CSV or Prometheus' metrics, one *_table.c each.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "output/histogram.h"
#include "output/json.h"
#include "output/metrics.h"

enum cell_kind {
	CELL_TEXT,   /* text, escaped; NULL: "?" in text, empty in the rest */
	CELL_COMM,   /* text: the name of a thread */
	CELL_UINT,   /* n */
	CELL_TIME,   /* n, nanoseconds; in text as fractions of milli- or microseconds */
	CELL_SPAN,   /* x, nanoseconds; in text three digits with their unit */
	CELL_HIST,   /* hist; NULL: none */
	CELL_NESTED, /* data of the column's functions */
};

struct cell {
	bool is_unknown;
	const char *mark; /* in front of CELL_TIME in text; NULL: none */
	union {
		const char *text;
		uint64_t n;
		double x;
		const struct hist *hist;
		const void *data;
	};
};

struct table_column {
	/* key in JSON, title in CSV; NULL: text only; CELL_HIST: its members are in the row */
	const char *name;
	const char *title; /* in text; NULL: absent */
	enum cell_kind kind;
	int width;		     /* in text; negative: aligned left */
	const char *label;	     /* in metrics; NULL: none */
	const struct metric *metric; /* to which values are added; NULL: none */
	const char *severity;	     /* value of a first label "severity"; NULL: no such label */

	/* for CELL_NESTED: print lines below a text row, or CSV's field unquoted; JSON's member */
	void (*print)(FILE *f, const void *data);
	void (*print_json)(struct json *json, const void *data);
};

#define TABLE_COLUMN(i) (1U << (i))

struct table {
	const char *type; /* in JSON and CSV */
	const struct table_column *columns;
	size_t n;
	uint32_t shown;		      /* columns that are printed, bits by TABLE_COLUMN() */
	uint32_t elsewhere;	      /* columns of other tables in the same CSV file, empty here */
	bool in_ms;		      /* CELL_TIME in text; else in microseconds */
	unsigned int max_width;	      /* of lines of text, in whole columns; 0: no limit */
	const struct hist_unit *unit; /* of histograms */
};

struct table_format;

/* A stream of tables. */
struct table_output {
	FILE *f;
	const struct table_format *format;
	struct metrics *metrics; /* for formats with totals */
	bool has_head;		 /* for formats with one head per file: it is written */
	/* the report's window, for formats that have it in each row; 0, 0: single events */
	uint64_t start_unix_ns, duration_ns;
};

struct table_format {
	const char *name, *extension; /* name for --format, extension of --output */
	bool has_totals; /* values count from the start of the run, else from the last report */
	void (*head)(struct table_output *to, const struct table *table);
	void (*row)(struct table_output *to, const struct table *table, const struct cell *cells);
};

extern const struct table_format text_table, json_table, csv_table, metrics_table;

/* Begins a table, even if no row follows. */
void table_head(struct table_output *to, const struct table *table);

/*
 * Writes a row, which has a cell for each column, shown or not. In text, a row with a histogram is
 * a paragraph with its other columns as title: "pid = 1 init".
 */
void table_row(struct table_output *to, const struct table *table, const struct cell *cells);

/* Returns the format of that name, or of that file's extension; NULL: there is none. */
const struct table_format *table_format_by_name(const char *name);
const struct table_format *table_format_by_extension(const char *path);

/* For formats: returns true if the column is in the table. */
static inline bool table_shows(const struct table *table, size_t column)
{
	return table->shown & TABLE_COLUMN(column);
}

#endif
