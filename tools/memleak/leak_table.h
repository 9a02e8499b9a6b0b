/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memleak's module: chooses the BPF programs and the processes whose allocators are probed, and
 * owns the table of live blocks with its reports. With -p or a command, blocks are those of
 * processes, else the kernel's. The tool's options are a struct leak_options.
 */
#ifndef LEAK_TABLE_H
#define LEAK_TABLE_H

#include "memleak/leak_options.h"
#include "run/run.h"
#include "stacks/stacks_spec.h"

extern const struct module leak_table_module;
extern const struct stacks_spec leak_table_stacks;

/* Returns true if processes are traced, not the kernel: their calls need task states. */
bool leak_table_keeps_calls(const struct run *run);

/* The tool's check(), start() and report(). */
int leak_table_check(struct run *run);
int leak_table_start(struct run *run);
int leak_table_report(struct run *run);

#endif
