// SPDX-License-Identifier: GPL-2.0-only
/*
 * alike ROUNDS: naps of 1 ms in stacks that differ only in one deep frame and have equal registers.
 * A round has three naps under alike_left() and one under alike_right(). Prints the total time
 * under each.
 */
#include "work.h"

#define DEPTH  40
#define NAP_NS NS_PER_MS

static uint64_t left_ns, right_ns;

WORK_FUNCTION void alike_nap(uint64_t *sum_ns)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t begin_ns = work_clock(CLOCK_MONOTONIC);

	nanosleep(&nap, NULL);
	*sum_ns += work_clock(CLOCK_MONOTONIC) - begin_ns;
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void alike_descend(int depth, uint64_t *sum_ns)
{
	if (depth)
		alike_descend(depth - 1, sum_ns);
	else
		alike_nap(sum_ns);
	WORK_KEEP_FRAME();
}

/* Total of one call, shared by both callers: their stacks differ only in the return address. */
static uint64_t sum_ns;

/* The asm comment keeps the compiler from merging both functions. */
#define ALIKE(name)                            \
	WORK_FUNCTION void alike_##name(void)  \
	{                                      \
		alike_descend(DEPTH, &sum_ns); \
		__asm__ volatile("# " #name);  \
	}

ALIKE(left)
ALIKE(right)

static void take(void (*side)(void), uint64_t *total_ns)
{
	sum_ns = 0;
	side();
	*total_ns += sum_ns;
}

int main(int argc, char **argv)
{
	int rounds = work_number(argc, argv, 1, 100);

	work_wait_go();
	for (int i = 0; i < rounds; i++) {
		take(alike_left, &left_ns);
		take(alike_left, &left_ns);
		take(alike_left, &left_ns);
		take(alike_right, &right_ns);
	}
	work_say("left_ns", left_ns);
	work_say("right_ns", right_ns);
	work_wait_end();
	return 0;
}
