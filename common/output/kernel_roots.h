/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the first kernel frame in stacks without frame suffixes: the function that enters the
 * kernel. Only names that no program would use for its own functions are known.
 */
#ifndef KERNEL_ROOTS_H
#define KERNEL_ROOTS_H

#include <stdbool.h>

/*
 * Returns true for a function that enters the kernel: from it to the leaf, frames are the kernel's.
 */
bool kernel_is_root(const char *name);

#endif
