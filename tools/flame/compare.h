/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --diff --table: functions of two sides, each of one or several recorded runs. Values are a
 * function's own, and means of a side's runs.
 *
 * A difference counts if it exceeds the noise: the difference that equal sides exceed by chance
 * once in a thousand comparisons. Two sources of noise are known, and the larger one is used:
 * samples are counts, so their variance is at least their number; runs of one side differ.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include <stdio.h>

#include "flame/options.h"

/*
 * Prints the table, largest differences first. Returns the number of functions that grew by more
 * than the limit and the noise, after a message that names the first; or -errno, printed.
 */
int compare_print(FILE *f, struct options *how, char **paths);

#endif
