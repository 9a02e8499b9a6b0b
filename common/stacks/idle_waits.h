/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recognizes waits of threads that have nothing to do: idle event loops and worker pools, kernel
 * threads without work. Identified by function names, so stripped programs are not recognized.
 */
#ifndef IDLE_WAITS_H
#define IDLE_WAITS_H

#include <stddef.h>

struct frame;

/*
 * Returns the reason why a wait with that stack is idle, such as "libuv (node): the event loop";
 * NULL: not idle, or unknown. Frames are in the order of a sample: root first.
 */
const char *idle_wait_find(const struct frame *const *frames, size_t n);

#endif
