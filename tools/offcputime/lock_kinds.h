/* SPDX-License-Identifier: GPL-2.0-only */
/* Kind of a lock that threads wait for. */
#ifndef LOCK_KINDS_H
#define LOCK_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/frames.h"

/*
 * A futex is just a word. The function of the C library that waits for it shows its use: "mutex",
 * "condition", "rwlock", "semaphore", "barrier", "join"; "futex" if it isn't known. kind: enum
 * lock_kind, whose locks of the kernel have names of their own: "mutex", "rwsem", "percpu-rwsem",
 * "rtmutex", "semaphore", "spin", "rwlock". frames: the user stack, root first.
 */
const char *lock_kind_name(uint32_t kind, const struct frame *const *frames, size_t n);

bool lock_kind_is_condition(const char *name);

/*
 * Returns the kernel function that waited for a lock: the innermost one outside of the lock's own
 * code. NULL: there is none. frames: the kernel stack, root first.
 */
const char *lock_kind_user(const struct frame *const *frames, size_t n);

#endif
