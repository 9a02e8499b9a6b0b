/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log-linear histograms, shared by BPF and the loader.
 *
 * A value is recorded in fixed point, in the printed unit, so that each row of the table (a power
 * of two of the unit) starts exactly at an octave. Each octave has 32 equal slots, which bounds the
 * relative error of a percentile by 1/32 (3 %), and is one map element: an octave that no value
 * falls in costs nothing in a histogram per process.
 *
 * The same scheme as HdrHistogram's (sub-buckets per power of two).
 */
#ifndef ABI_HIST_H
#define ABI_HIST_H

#include "abi/types.h"

#define HIST_SLOT_BITS	      5
#define HIST_SLOTS_PER_OCTAVE (1 << HIST_SLOT_BITS)
#define HIST_OCTAVES	      48

struct hist_octave {
	__u64 slots[HIST_SLOTS_PER_OCTAVE];
	__u64 sum; /* total of the values, in fixed point */
	__u64 max;
};

/*
 * Returns ns (at most HIST_MAX_NS) in fixed point: (ns * mult) >> shift, rounded down, for shift >=
 * HIST_MULT_BITS and mult < 2^41. Multiplies by mult in two halves: one 64-bit product has space
 * for only 20 bits of mult, which would count a value just below a power of two in the next row
 * from 6 ms on.
 */
#define HIST_MAX_NS    (1ULL << 43)
#define HIST_MULT_BITS 20

static inline __u64 hist_scale(__u64 ns, __u64 mult, __u32 shift)
{
	__u64 low = (ns * (mult & ((1ULL << HIST_MULT_BITS) - 1))) >> HIST_MULT_BITS;

	return (ns * (mult >> HIST_MULT_BITS) + low) >> (shift - HIST_MULT_BITS);
}

/*
 * Returns 1 if v is not 0, else 0, for v up to 2^63. Has no branch, which would double the paths
 * that the verifier walks: compilers must not see through it.
 */
static inline __u32 hist_is_some(__u64 v)
{
	__u64 negative = 0 - v;

	barrier_var(negative);
	return negative >> 63;
}

/* Returns the position of the highest set bit; 0 for 0. */
static inline __u32 hist_floor_log2(__u64 v)
{
	__u32 r = 0, shift;

	shift = hist_is_some(v >> 32) << 5;
	v >>= shift;
	r |= shift;
	shift = hist_is_some(v >> 16) << 4;
	v >>= shift;
	r |= shift;
	shift = hist_is_some(v >> 8) << 3;
	v >>= shift;
	r |= shift;
	shift = hist_is_some(v >> 4) << 2;
	v >>= shift;
	r |= shift;
	shift = hist_is_some(v >> 2) << 1;
	v >>= shift;
	r |= shift;
	return r | (v >> 1);
}

/* Returns a value's octave: 0 for 0..31, one per slot; n for 2^(n+4)..2^(n+5)-1, in 32 slots. */
static inline __u32 hist_octave_of(__u64 v)
{
	__u32 octave;

	if (v < HIST_SLOTS_PER_OCTAVE)
		return 0;
	octave = hist_floor_log2(v) - HIST_SLOT_BITS + 1;
	return octave < HIST_OCTAVES ? octave : HIST_OCTAVES - 1;
}

static inline __u32 hist_slot_of(__u64 v, __u32 octave)
{
	return (octave ? v >> (octave - 1) : v) & (HIST_SLOTS_PER_OCTAVE - 1);
}

/* Conversion of ns to fixed point, see hist_scale(), and the use of the tables. */
struct hist_settings {
	__u64 mult;
	__u32 shift;
	bool has_turns; /* two tables by key alternate; false: only the first is used */
};

#define HIST_NAME_LEN 32

/* Key of one octave of a histogram: each octave is an element of the table. */
struct hist_key {
	__u64 id;
	__u64 octave;
};

#endif
