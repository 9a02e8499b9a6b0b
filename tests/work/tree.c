// SPDX-License-Identifier: GPL-2.0-only
/*
 * tree LEVELS nap|spin USEC [HZ]: visits the 2^LEVELS leaves of a binary tree, each with a distinct
 * stack of left() and right(), and sleeps there once or spins for USEC. With HZ, prints its samples
 * by the kernel at this rate.
 */
#include <string.h>

#include "samples.h"
#include "ways.h"

static int is_nap;
static uint64_t stay_ns;

WORK_FUNCTION void leaf_spin(void)
{
	uint64_t end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + stay_ns;

	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
	WORK_KEEP_FRAME();
}

/* Naps until the thread has left the CPU: a nap may end before that. */
WORK_FUNCTION void leaf_nap(void)
{
	struct rusage usage = {}, before = {};

	getrusage(RUSAGE_THREAD, &before);
	while (usage.ru_nvcsw <= before.ru_nvcsw) {
		work_sleep(stay_ns);
		getrusage(RUSAGE_THREAD, &usage);
	}
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void leaf(void)
{
	if (is_nap)
		leaf_nap();
	else
		leaf_spin();
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void walk_leaves(int levels)
{
	for (uint64_t way = 0; way < 1u << levels; way++)
		step(way, levels);
	WORK_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	int levels = work_number(argc, argv, 1, 9), hz = work_number(argc, argv, 4, 0);
	struct perf_event_mmap_page *ring = NULL;

	is_nap = argc > 2 && !strcmp(argv[2], "nap");
	stay_ns = (uint64_t)work_number(argc, argv, 3, 1) * 1000;
	work_wait_go();
	if (!is_nap)
		work_go_first();
	if (hz)
		work_sample(&ring, (uint64_t)hz, 0);
	walk_leaves(levels);
	if (ring)
		work_say("samples", work_samples(ring));
	work_say("cpu_ns", work_clock(CLOCK_THREAD_CPUTIME_ID));
	work_wait_end();
	return 0;
}
