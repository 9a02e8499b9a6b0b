/* SPDX-License-Identifier: GPL-2.0-only */
/* xorshift64: the same numbers in every run (Marsaglia, "Xorshift RNGs"). */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252ULL;

static inline uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

#endif
