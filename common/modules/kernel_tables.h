/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the kernel keeps its unwind table, for the walk of kernel stacks in BPF. Where that can't
 * be found out, the kernel walks them itself: slower, with the same result.
 */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include "run/run.h"

extern const struct module kernel_tables_module;

#endif
