// SPDX-License-Identifier: GPL-2.0-only
/* The one clock; see clock.h. */
#include <time.h>

#include "clock.h"
#include "parse.h"

uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}
