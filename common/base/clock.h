/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

/*
 * Returns the clock of bpf_ktime_get_ns(): CLOCK_MONOTONIC without what a time namespace adds to it
 * (time_namespaces(7)).
 */
uint64_t clock_now_ns(void);

/* Converts a time of that clock for a timer of CLOCK_MONOTONIC; 0 stays 0: no timer. */
struct timespec clock_timer_time(uint64_t time_ns);

/* CLOCK_REALTIME, since 1970. */
uint64_t clock_wall_ns(void);

/* Returns the value that CLOCK_REALTIME, as set now, had when CLOCK_MONOTONIC was then_ns. */
uint64_t clock_wall_at(uint64_t then_ns);

/* Writes the local time as "23:59:59" into text, and returns it. */
#define CLOCK_TIME_OF_DAY_SIZE 9
char *clock_time_of_day(char text[CLOCK_TIME_OF_DAY_SIZE]);

#endif
