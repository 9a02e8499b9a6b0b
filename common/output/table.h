/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of numbers. A tool declares columns as constant data and passes each row once, as cells; a
 * format writes it: text, JSON, CSV or Prometheus' metrics, one *_table.c each.
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
	CELL_TEXT,   /* text, escaped; NULL: "?" in text, empty in other formats */
	CELL_COMM,   /* text, the name of a thread */
	CELL_UINT,   /* n */
	CELL_TIME,   /* n, nanoseconds; text has fractions of ms or us */
	CELL_SPAN,   /* x, nanoseconds; text has three digits and a unit */
	CELL_HIST,   /* hist; NULL: none */
	CELL_NESTED, /* data, for the column's print functions */
};

struct cell {
	bool is_unknown;
	const char *mark; /* text before a CELL_TIME, in text only; NULL: none */
	union {
		const char *text;
		uint64_t n;
		double x;
		const struct hist *hist;
		const void *data;
	};
};

struct table_column {
	/* key in JSON, title in CSV; NULL: text only; CELL_HIST: its members are the row's */
	const char *name;
	const char *title; /* title in text; NULL: not in text */
	enum cell_kind kind;
	int width;		     /* width in text; negative: aligned left */
	const char *label;	     /* label in metrics; NULL: none */
	const struct metric *metric; /* metric that values are added to; NULL: none */
	const char *severity;	     /* value of a first metric label "severity"; NULL: none */

	/*
	 * for CELL_NESTED: print() prints lines below a text row, or the CSV field without quotes;
	 * print_json() prints JSON's member
	 */
	void (*print)(FILE *f, const void *data);
	void (*print_json)(struct json *json, const void *data);
};

#define TABLE_COLUMN(i) (1U << (i))

struct table {
	const char *type; /* type in JSON and CSV */
	const struct table_column *columns;
	size_t n;
	uint32_t shown;		      /* printed columns, bits TABLE_COLUMN() */
	uint32_t elsewhere;	      /* columns of the CSV file's other tables: left empty */
	bool in_ms;		      /* CELL_TIME is in ms in text; else in us */
	unsigned int max_width;	      /* width of text lines, in whole columns; 0: no limit */
	const struct hist_unit *unit; /* unit of histograms */
};

struct table_format;

/* A stream of tables. */
struct table_output {
	FILE *f;
	const struct table_format *format;
	struct metrics *metrics; /* the run's metrics, for formats with totals */
	bool has_head;		 /* the header is written; for formats with one header per file */
	/* the report's window, for formats that print it in each row; both 0: single events */
	uint64_t start_unix_ns, duration_ns;
};

struct table_format {
	const char *name, *extension; /* name for --format, extension of --output */
	bool has_totals; /* values are totals since the run's start, not the previous report */
	void (*head)(struct table_output *to, const struct table *table);
	void (*row)(struct table_output *to, const struct table *table, const struct cell *cells);
};

extern const struct table_format text_table, json_table, csv_table, metrics_table;

/* Begins a table; called even if no row follows. */
void table_head(struct table_output *to, const struct table *table);

/*
 * Writes a row. cells: one for each column, shown or not. In text, a row with a histogram is a
 * paragraph whose title is the other columns: "pid = 1 init".
 */
void table_row(struct table_output *to, const struct table *table, const struct cell *cells);

/* Return the format with a name, or for a file's extension; NULL: none. */
const struct table_format *table_format_by_name(const char *name);
const struct table_format *table_format_by_extension(const char *path);

/* For formats: returns true if the column is printed. */
static inline bool table_shows(const struct table *table, size_t column)
{
	return table->shown & TABLE_COLUMN(column);
}

#endif
