/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

/* CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns(). */
uint64_t clock_now_ns(void);

/* CLOCK_REALTIME, since 1970. */
uint64_t clock_wall_ns(void);

/* What CLOCK_REALTIME would have been, as it is set now, when CLOCK_MONOTONIC was then_ns. */
uint64_t clock_wall_at(uint64_t then_ns);

/* The local time as "23:59:59", into text, which is returned. */
#define CLOCK_TIME_OF_DAY_SIZE 9
char *clock_time_of_day(char text[CLOCK_TIME_OF_DAY_SIZE]);

#endif
