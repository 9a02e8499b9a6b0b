/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The live view: which functions take most, drawn anew with each report on the terminal. A report
 * after top_stop() is the last, and followed by a table of the whole run.
 */
#ifndef TOP_WRITER_H
#define TOP_WRITER_H

#include "loop.h"
#include "writer.h"

extern const struct writer top_writer; /* not one of --format */

/* Before the first report: q ends the loop. 0 or -errno, printed. */
int top_start(struct loop *loop);

/* The terminal gets back what was on it. */
void top_stop(void);

void top_finish(void);

#endif
