/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the first kernel frame in stacks without frame suffixes: the function that enters the
 * kernel. Only names that no program would use for its own functions are known.
 */
#ifndef KERNEL_ROOTS_H
#define KERNEL_ROOTS_H

#include <stdbool.h>

/*
 * Returns true if the function enters the kernel: it and all frames below it, to the leaf, are
 * kernel frames.
 */
bool kernel_is_root(const char *name);

#endif
