// SPDX-License-Identifier: GPL-2.0-only
/* The columns of numbers; see call_columns.h. */
#include "base/array.h"
#include "base/clock.h"
#include "syscount/call_columns.h"

char *call_time_text(char *buf, size_t size, double ns)
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
	return buf;
}

double call_sum_percentile_ns(const struct call_sum *sum, const struct hist_unit *unit,
			      double percent)
{
	double ns, unit_ns = unit == &hist_nsecs ? 1 : unit == &hist_usecs ? 1e3 : 1e6;

	if (!sum->timed)
		return 0;
	ns = hist_percentile(sum->hist, unit, percent) * unit_ns;
	return ns < (double)sum->min_ns ? (double)sum->min_ns : ns;
}

static double minimum_ns(const struct call_sum *sum, const struct hist_unit *unit)
{
	(void)unit;
	return (double)sum->min_ns;
}

static double average_ns(const struct call_sum *sum, const struct hist_unit *unit)
{
	(void)unit;
	return (double)sum->total_ns / (double)sum->timed;
}

static double median_ns(const struct call_sum *sum, const struct hist_unit *unit)
{
	return call_sum_percentile_ns(sum, unit, 50);
}

static double p99_ns(const struct call_sum *sum, const struct hist_unit *unit)
{
	return call_sum_percentile_ns(sum, unit, 99);
}

static double maximum_ns(const struct call_sum *sum, const struct hist_unit *unit)
{
	(void)unit;
	return (double)sum->max_ns;
}

#define COUNT_WIDTH 9 /* width of columns, with the blank in front */
#define TOTAL_WIDTH 14
#define TIME_WIDTH  7

static const struct time_column {
	const char *title;
	double (*value_ns)(const struct call_sum *sum, const struct hist_unit *unit);
	unsigned int rank; /* columns of high rank are dropped first if not all fit */
} time_columns[] = {
	{ "MIN", minimum_ns, 4 }, { "AVG", average_ns, 0 }, { "P50", median_ns, 3 },
	{ "P99", p99_ns, 1 },	  { "MAX", maximum_ns, 2 },
};

static bool take(unsigned int *left, unsigned int width)
{
	if (*left < width) {
		*left = 0; /* less important columns don't take its place */
		return false;
	}
	*left -= width;
	return true;
}

void call_columns_choose(struct call_columns *columns, unsigned int room)
{
	columns->has_count = take(&room, COUNT_WIDTH);
	columns->has_total = columns->timed && take(&room, TOTAL_WIDTH);
	columns->n_times = 0;
	while (columns->has_total && columns->n_times < ARRAY_SIZE(time_columns) &&
	       take(&room, TIME_WIDTH))
		columns->n_times++;
}

void call_columns_print_titles(FILE *f, const struct call_columns *columns)
{
	if (columns->has_count)
		fprintf(f, " %8s", "COUNT");
	if (columns->has_total)
		fprintf(f, " %13s", columns->in_ms ? "TIME (ms)" : "TIME (us)");
	for (size_t i = 0; i < ARRAY_SIZE(time_columns); i++)
		if (time_columns[i].rank < columns->n_times)
			fprintf(f, " %6s", time_columns[i].title);
	fputc('\n', f);
}

static void print_time(FILE *f, const struct call_sum *sum, const struct hist_unit *unit,
		       const struct time_column *column)
{
	char text[32] = "-";

	if (sum->timed)
		call_time_text(text, sizeof(text), column->value_ns(sum, unit));
	fprintf(f, " %6s", text);
}

void call_columns_print(FILE *f, const struct call_columns *columns, const struct call_sum *sum)
{
	if (columns->has_count)
		fprintf(f, " %8llu", (unsigned long long)sum->calls);
	if (columns->has_total)
		fprintf(f, " %13.*f", columns->in_ms ? 6 : 3,
			(double)sum->total_ns / (columns->in_ms ? NS_PER_MS : NS_PER_US));
	for (size_t i = 0; i < ARRAY_SIZE(time_columns); i++)
		if (time_columns[i].rank < columns->n_times)
			print_time(f, sum, columns->unit, &time_columns[i]);
	fputc('\n', f);
}
