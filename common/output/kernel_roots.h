/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the first kernel frame in a stack that doesn't label its frames: the function by which the
 * kernel is entered. Only names that no program would give its own functions count.
 */
#ifndef KERNEL_ROOTS_H
#define KERNEL_ROOTS_H

#include <stdbool.h>

/* All frames from this one on, to the innermost, are the kernel's. */
bool kernel_is_root(const char *name);

#endif
