/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the kernel's unwind table, for the walk of kernel stacks in BPF. If it isn't found, the
 * kernel walks its stacks itself: slower, with the same result.
 */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include "run/run.h"

extern const struct module kernel_tables_module;

#endif
