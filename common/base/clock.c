// SPDX-License-Identifier: GPL-2.0-only
/* Reads and converts clocks; see clock.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define MONOTONIC "monotonic "

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Reads the offset without stdio, which allocates memory: signal handlers read the clock, too. */
static int64_t read_namespace_ns(void)
{
	int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	char text[128] = "", *end;
	long long s;

	if (fd < 0)
		return 0;
	(void)!read(fd, text, sizeof(text) - 1);
	close(fd);
	if (strncmp(text, MONOTONIC, strlen(MONOTONIC)) != 0)
		return 0;
	s = strtoll(text + strlen(MONOTONIC), &end, 10);
	return s * (int64_t)NS_PER_S + strtoll(end, NULL, 10);
}

/* Returns the offset, which is read once: a process's own time namespace never changes. */
static int64_t namespace_ns(void)
{
	static int64_t known = INT64_MAX;

	if (known == INT64_MAX)
		known = read_namespace_ns();
	return known;
}

uint64_t clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC) - (uint64_t)namespace_ns();
}

struct timespec clock_timer_time(uint64_t time_ns)
{
	time_ns += time_ns ? (uint64_t)namespace_ns() : 0;
	return (struct timespec){ (time_t)(time_ns / NS_PER_S), (long)(time_ns % NS_PER_S) };
}

uint64_t clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_thread_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
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

char *clock_utc(char text[CLOCK_UTC_SIZE], uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / NS_PER_S);
	struct tm utc;
	size_t n;

	gmtime_r(&seconds, &utc);
	n = strftime(text, CLOCK_UTC_SIZE, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + n, CLOCK_UTC_SIZE - n, ".%03uZ",
		 (unsigned int)(unix_ns % NS_PER_S / NS_PER_MS));
	return text;
}
