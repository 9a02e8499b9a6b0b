/* SPDX-License-Identifier: GPL-2.0-only */
/* memleak -t: a line for each call that allocates or frees. */
#ifndef CALL_LINES_H
#define CALL_LINES_H

#include "run/ringbuf.h"
#include "run/run.h"

/* All zero: none are wanted. */
struct call_lines {
	struct run *run;
	struct ringbuf *calls;
	unsigned int n_headed; /* files that have a heading */
};

/* After load: prints calls as they come. 0, or -EIO, printed, if they can't be read. */
int call_lines_watch(struct call_lines *lines, struct run *run);

/* Prints those that have come; none if they are not watched. */
void call_lines_read(struct call_lines *lines);
void call_lines_close(struct call_lines *lines);

#endif
