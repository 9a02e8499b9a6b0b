/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of the system, of a cgroup or of a process, which errno names only roughly. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Raises what this process may raise itself: open files up to the hard limit, and locked memory,
 * as which BPF maps and programs count below 5.11. Children that run already keep their limits.
 */
void limits_raise(void);

/* Restores the limits: for programs that are executed, which run as they do without us. */
void limits_restore(void);

/*
 * Returns true if err, negative, means that a limit was reached, not that the kernel lacks a
 * feature.
 */
bool limit_is_reached(int err);

/*
 * Returns which limit err means, and how to raise it, for a hint; NULL: not a limit. May write into
 * text.
 */
const char *limit_hint(int err, char *text, size_t size);

/*
 * The same for perf_event_open(2): Debian's kernels have kernel.perf_event_paranoid at 3, by which
 * CAP_PERFMON is not enough (mainline stops at 2).
 */
const char *limit_hint_of_perf(int err, char *text, size_t size);

#endif
