/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits of threads that have nothing to do: event loops and pools of workers at rest, kernel
 * threads without work. By the names of functions, so that what is stripped is not recognized.
 */
#ifndef IDLE_WAITS_H
#define IDLE_WAITS_H

#include <stddef.h>

struct frame;

/*
 * Returns the reason why a wait with that stack is one at rest, such as "libuv: its event loop";
 * NULL: it isn't, or nothing is known of it. Frames are in the order of a sample: root first.
 */
const char *idle_wait_find(const struct frame *const *frames, size_t n);

#endif
