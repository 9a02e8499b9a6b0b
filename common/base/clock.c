// SPDX-License-Identifier: GPL-2.0-only
/* The clocks; see clock.h. */
#include <time.h>

#include "base/clock.h"

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_wall_at(uint64_t then_ns)
{
	return clock_wall_ns() - (clock_now_ns() - then_ns);
}

char *clock_time_of_day(char text[CLOCK_TIME_OF_DAY_SIZE])
{
	time_t now = time(NULL);
	struct tm local;

	localtime_r(&now, &local);
	strftime(text, CLOCK_TIME_OF_DAY_SIZE, "%H:%M:%S", &local);
	return text;
}
