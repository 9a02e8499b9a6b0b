/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loader's part of bpf/waits.bpf.c, for tools that also use taskstate_module,
 * kernel_tables_module and stacks_module: which waits are counted, and where a window of time cuts
 * them. Functions that return something: 0 or -errno, printed.
 */
#ifndef WAITS_H
#define WAITS_H

#include "abi/waits.h"
#include "run/run.h"

extern const struct skeleton waits_skeleton;

/* The program for sampler_module, if the time on CPU is counted too. */
#define WAITS_SAMPLER "waits_sample"

/* Before load: without the kernel's locks, without all locks. */
void waits_leave_out_kernel_locks(const struct run *run);
void waits_leave_out_locks(const struct run *run);

/* Configures BPF before load. finds_wakers: wakers are reported. */
int waits_configure(const struct run *run, const struct wait_settings *wanted, bool finds_wakers);

/* Once all is attached: threads that are off CPU wait from the window's start on. */
int waits_start(struct run *run);

/*
 * Ends the window before a report: threads have waited, or run, until run->end_ns, and the rest
 * belongs to the next window. A peek counts finished waits only.
 */
int waits_end_window(struct run *run);

#endif
