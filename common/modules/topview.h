/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The live view of --top: a table on the terminal, drawn anew with each report and when the
 * terminal changes its size, until q or a signal ends it. Then the terminal has back what was on
 * it, and the last report is followed by a table of the whole run.
 */
#ifndef TOPVIEW_H
#define TOPVIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "run/run.h"

/*
 * Called by the check() of a module with such a view, if it is requested: checks that it is
 * possible, sets run->view and how often it is drawn. 0 or -EINVAL, printed.
 */
int topview_check(struct run *run);

/*
 * Hooks of the module whose option requests the view, or a module by itself; without a view they do
 * nothing.
 */
int topview_start(struct run *run);
void topview_stop(struct run *run);
void topview_finish(struct run *run);
extern const struct module topview_module;

/* Only where run->view is set: print the final report instead of drawing again. */
bool topview_is_over(const struct run *run);

/* Prints the first line of a screen. keys: text about keys before "q quits". */
void topview_print_head(FILE *f, struct run *run, uint64_t total, const char *keys);

/* Maximum number of rows of a table; the screen shows as many as fit. */
#define TOPVIEW_ROWS 1000

/*
 * Returns the rows of the last table, so that the lines at the end of the run are on the screen,
 * too.
 */
unsigned int topview_last_rows(void);

/* Number of characters of a line that are shown. */
unsigned int topview_columns(void);

/*
 * Shows the text, which is taken over: as many lines as fit. by_total: the same in another order,
 * which the keys t and s change to and back; NULL: there is none.
 */
void topview_show(const struct run *run, char *text, char *by_total);

/* Returns which of the two is shown. */
bool topview_is_by_total(const struct run *run);

#endif
