// SPDX-License-Identifier: GPL-2.0-only
/*
 * names MS: functions with difficult names, which call each other in this order: a static one, one
 * mangled by C++, one by each of Rust's manglings, and one in a separate segment, which spins for
 * MS. The Makefile builds variants: all ways to map a file, and stripped, with separate symbols.
 */
#include "work.h"

WORK_FUNCTION long names_outer(long x);
WORK_FUNCTION long cxx_enter(long x) __asm__("_ZN4work6Tracer5enterEl");
WORK_FUNCTION long rust_spin(long x) __asm__("_RNvNtC4work6tracer4spin");
WORK_FUNCTION long legacy_leaf(long x) __asm__("_ZN4work6legacy4leaf17h0123456789abcdefE");
WORK_FUNCTION long names_far(long ms) __attribute__((section(".far_text")));

static long names_far(long ms)
{
	uint64_t end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * NS_PER_MS;
	volatile long n = 0;

	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (int i = 0; i < 100000; i++)
			n++;
	return n;
}

static long legacy_leaf(long x)
{
	return names_far(x) + x;
}

static long rust_spin(long x)
{
	return legacy_leaf(x) + x;
}

static long cxx_enter(long x)
{
	return rust_spin(x) + x;
}

static long names_outer(long x)
{
	return cxx_enter(x) + x;
}

int main(int argc, char **argv)
{
	work_set_comm("names");
	work_wait_go();
	names_outer(work_number(argc, argv, 1, 100));
	work_wait_end();
	return 0;
}
