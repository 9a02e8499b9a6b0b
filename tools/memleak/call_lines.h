/* SPDX-License-Identifier: GPL-2.0-only */
/* memleak -t: a line for each call that allocates or frees. */
#ifndef CALL_LINES_H
#define CALL_LINES_H

#include "run/ringbuf.h"
#include "run/run.h"

/*
 * After load: prints a heading, and calls as they come. NULL, printed, if the ring buffer can't be
 * opened; end with ringbuf_close().
 */
struct ringbuf *call_lines_watch(struct run *run);

#endif
