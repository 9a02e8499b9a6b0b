/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loader's part of bpf/sched/waits.bpf.h: which waits are counted, and at which times windows
 * cut them. For tools that also use taskstate_module and stacks_module. Functions return 0 or
 * -errno, printed.
 */
#ifndef WAITS_H
#define WAITS_H

#include "abi/waits.h"
#include "run/run.h"

/* BPF object of bpf/waits.bpf.c; needs kernel_tables_module. */
extern const struct skeleton waits_skeleton;

/* Remarks of waits, by the bits of enum wait_remark. */
#define WAIT_REMARKS (WAIT_THROTTLED + 1)
extern const char *const wait_remarks[WAIT_REMARKS];

/* Programs that walk user stacks, see struct stacks_spec. */
extern const char *const wait_walkers[];

/* Name of the program for sampler_module, if time on CPU is counted too. */
#define WAITS_SAMPLER "waits_sample"

/* Options of tools whose values are waits: which threads, and the lengths of waits. */
extern const struct module waits_module;

/*
 * Configures bpf/waits.bpf.c before load. The limits of lengths come from the options of
 * waits_module; if the tool doesn't use it, there are none. Those in *wanted are ignored.
 */
int waits_configure(const struct run *run, const struct wait_settings *wanted);

/* Does the same for another program that includes bpf/sched/waits.bpf.h. */
int waits_set_settings(const struct run *run, const struct wait_settings *wanted);

/*
 * Opens the first window, once all programs are attached: threads that are off CPU wait from the
 * window's start on.
 */
int waits_start(struct run *run);

/*
 * Does the same within a window, for threads that the filter has begun to match. Threads that wait
 * since before their process's runtime was described get their stacks anew.
 */
int waits_start_more(struct run *run);

/*
 * Ends the window before a report: waits and runs count up to run->end_ns; the rest belongs to the
 * next window. A peek counts finished waits only.
 */
int waits_end_window(struct run *run);

#endif
