/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows of time in which functions that allocate are probed. Between them they cost nothing; what
 * gives memory back is probed all the time, so that blocks of the windows are followed to their
 * end. A block that is moved counts by its last move: so each has the same chance, however often it
 * was moved. Gaps have random lengths, or a program that does something every second would always,
 * or never, be met.
 */
#ifndef LEAK_WINDOWS_H
#define LEAK_WINDOWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/uprobes.h"
#include "run/run.h"

struct leak_windows;
struct window_part;

/* For such a share of the time. Free with leak_windows_free(), once all parts are dropped. */
struct leak_windows *leak_windows_new(const struct run *run, uint32_t percent);
void leak_windows_free(struct leak_windows *windows);

/*
 * Once it is known how probes are attached, by these programs. 0, or -ENOTSUP, printed, where that
 * is one by one, which takes too long.
 */
int leak_windows_prepare(struct leak_windows *windows, const struct uprobes_programs *programs);

/*
 * Adds points that are attached in each window from now on, as by uprobes_attach(); their files
 * stay open. NULL with errno set if none can be attached.
 */
struct window_part *leak_windows_add(struct leak_windows *windows, pid_t pid,
				     struct uprobe_point *points, size_t n);

/* They are not any more; NULL does nothing. */
void leak_windows_drop(struct leak_windows *windows, struct window_part *part);

/* After load: the first gap begins. 0 or -errno, printed. */
int leak_windows_begin(struct leak_windows *windows);

/* Nothing is attached any more. */
void leak_windows_end(struct leak_windows *windows);

/* Prints how much of the time the windows were. */
void leak_windows_print(const struct leak_windows *windows);

#endif
