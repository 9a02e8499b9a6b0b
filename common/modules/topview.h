/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The live view of --top: a table on the terminal, redrawn with each report and when the terminal's
 * size changes, until q or a signal ends it. Then the terminal's contents are restored, and the
 * last report prints a table of the whole run.
 */
#ifndef TOPVIEW_H
#define TOPVIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "run/run.h"

/*
 * Called by the check() of a module if its view is requested: checks that a view is possible, and
 * sets run->view and the interval. 0 or -EINVAL, printed.
 */
int topview_check(struct run *run);

/* Hooks for the module that requests the view, or as a module. They do nothing without a view. */
int topview_start(struct run *run);
void topview_stop(struct run *run);
void topview_finish(struct run *run);
extern const struct module topview_module;

/* Returns true for the final report, which is printed, not drawn. Only if run->view is set. */
bool topview_is_over(const struct run *run);

/* Prints the first line of a screen. keys: text about keys, before "q quits". */
void topview_print_head(FILE *f, struct run *run, uint64_t total, const char *keys);

/* Maximum number of rows of a table; the screen shows as many as fit. */
#define TOPVIEW_ROWS 1000

/* Returns the rows of the last table that fit on the screen with the run's last messages. */
unsigned int topview_last_rows(void);

/* Returns the number of characters of a line that are shown. */
unsigned int topview_columns(void);

/*
 * Shows as many lines of the text as fit, and takes ownership of both texts. by_total: the same in
 * another order, selected by the key t; s selects text again. NULL: none.
 */
void topview_show(const struct run *run, char *text, char *by_total);

/* Returns true if by_total is shown. */
bool topview_is_by_total(const struct run *run);

#endif
