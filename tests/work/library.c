// SPDX-License-Identifier: GPL-2.0-only
/* library MS: works in functions of the C library for MS of CPU time, and waits there, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "work.h"

static char from[1 << 16], to[1 << 16];

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

WORK_FUNCTION void use_library(int n)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	char text[400];
	int items[300];

	for (int i = 0; i < 300; i++)
		items[i] = i * 7919 % 1000 + n;
	qsort(items, 300, sizeof(*items), compare);
	memset(from, n, sizeof(from));
	memcpy(to, from, sizeof(to));
	snprintf(text, sizeof(text), "%d %s %f %x", items[n % 300], "text", n * 1.5, to[n]);
	free(malloc(strlen(text) + (size_t)n));
	nanosleep(&pause, NULL);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void use_for(uint64_t ms)
{
	uint64_t end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + ms * NS_PER_MS;

	for (int n = 0; work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns; n++)
		use_library(n % 3000);
	WORK_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	work_wait_go();
	use_for((uint64_t)work_number(argc, argv, 1, 100));
	work_wait_end();
	return 0;
}
