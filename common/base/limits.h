/* SPDX-License-Identifier: GPL-2.0-only */
/* Raises resource limits of the process, and suggests remedies for any limit that was reached. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Raises this process's limits: open files to the hard limit, and locked memory, which kernels
 * before 5.11 charge for BPF maps and programs. Children already running keep their limits.
 */
void limits_raise(void);

/*
 * Restores the original limits: in a child that will execute another program, or in this process
 * while it starts one (then call limits_raise()).
 */
void limits_restore(void);

/* Returns true if err (-errno) means a reached limit, not a missing kernel feature. */
bool limit_is_reached(int err);

/*
 * Returns a hint: the limit that err (-errno) means, and how to raise it; NULL: not a limit. The
 * hint may be stored in text.
 */
const char *limit_hint(int err, char *text, size_t size);

/*
 * Like limit_hint(), for perf_event_open(2): Debian's kernels set kernel.perf_event_paranoid to 3,
 * which CAP_PERFMON doesn't override (mainline's maximum is 2).
 */
const char *limit_hint_of_perf(int err, char *text, size_t size);

#endif
