// SPDX-License-Identifier: GPL-2.0-only
/* inlined MS: spins in two functions that are inlined into a third. */
#include "work.h"

#define ALWAYS_INLINED static inline __attribute__((always_inline))
#define COUNT_MUCH     for (int i = 0; i < 100000; i++, count++)

static volatile uint64_t count;

ALWAYS_INLINED void inlined_leaf(uint64_t end_ns)
{
	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		COUNT_MUCH; /* tests look for this line */
}

ALWAYS_INLINED void inlined_middle(uint64_t end_ns)
{
	count = 0;
	inlined_leaf(end_ns);
	count++;
}

WORK_FUNCTION void inlined_outer(uint64_t ms)
{
	inlined_middle(work_clock(CLOCK_THREAD_CPUTIME_ID) + ms * NS_PER_MS);
	WORK_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	work_wait_go();
	inlined_outer((uint64_t)work_number(argc, argv, 1, 500));
	work_wait_end();
	return 0;
}
