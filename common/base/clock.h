/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns(). */
uint64_t clock_now_ns(void);

/* CLOCK_REALTIME, since 1970. */
uint64_t clock_wall_ns(void);

#endif
