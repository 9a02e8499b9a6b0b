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

#include "run/tool.h"

/*
 * From the check() of who has such a view, if it is asked for: whether it can be, and how often it
 * is drawn. 0 or -EINVAL, printed.
 */
int topview_check(struct run *run);

/*
 * Of the module that has the view, or a module by itself; they do nothing where it isn't asked for.
 */
int topview_start(struct run *run);
void topview_stop(struct run *run);
extern const struct module topview_module;

/* topview_check() has said yes. And: what comes now is the last report, no screen any more. */
bool topview_is_on(void);
bool topview_is_over(void);

/* The first line of a screen. */
void topview_print_head(FILE *f, const struct run *run, uint64_t total);

/* Rows that a table may have on the screen; of the last one more are left for last words. */
#define TOPVIEW_ROWS 1000
unsigned int topview_last_rows(void);

/* Shows the text, which is taken over: its first lines, as many as have room. */
void topview_show(char *text);

#endif
