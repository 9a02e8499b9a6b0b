/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

/*
 * Returns the time of bpf_ktime_get_ns(): CLOCK_MONOTONIC without the offset of this process's time
 * namespace (time_namespaces(7)). Signal handlers may call it; it may change errno.
 */
uint64_t clock_now_ns(void);

/* Converts a time of clock_now_ns() for a CLOCK_MONOTONIC timer; 0 (no timer) stays 0. */
struct timespec clock_timer_time(uint64_t time_ns);

/* Returns CLOCK_REALTIME, in nanoseconds since 1970. */
uint64_t clock_wall_ns(void);

/* Returns the CPU time that the calling thread has used. */
uint64_t clock_thread_ns(void);

/* Converts a time of clock_now_ns() to CLOCK_REALTIME as set now. */
uint64_t clock_wall_at(uint64_t then_ns);

/* Writes the local time, as "23:59:59", into text. Returns text. */
#define CLOCK_TIME_OF_DAY_SIZE 9
char *clock_time_of_day(char text[CLOCK_TIME_OF_DAY_SIZE]);

/* Writes a time since 1970 as UTC, "2026-11-27T20:53:40.123Z", into text. Returns text. */
#define CLOCK_UTC_SIZE 32
char *clock_utc(char text[CLOCK_UTC_SIZE], uint64_t unix_ns);

#endif
