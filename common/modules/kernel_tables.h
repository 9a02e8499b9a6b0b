/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the kernel's unwind table, so that BPF can walk kernel stacks. Without it, the kernel walks
 * them: slower, with the same result.
 */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include "run/run.h"

extern const struct module kernel_tables_module;

#endif
