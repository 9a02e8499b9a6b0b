/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MEDIAN_H
#define MEDIAN_H

#include <math.h>
#include <stdlib.h>

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the median of n values, which it sorts; NAN if n is 0. */
static inline double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), compare_doubles);
	return n ? (values[n / 2] + values[(n - 1) / 2]) / 2 : NAN;
}

#endif
