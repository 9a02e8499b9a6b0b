/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A binary search in the kernel and in the loader: counts the elements of a sorted array that are
 * not above a value. No branch depends on the elements: the verifier would follow both ways in each
 * iteration.
 */
#ifndef ABI_SEARCH_H
#define ABI_SEARCH_H

#include "abi/types.h"

struct search {
	__u64 below; /* number of elements known not to be above the value */
	__u64 rest;  /* number of following elements not compared yet */
};

/* Returns the index of the next element to compare. */
static inline __attribute__((always_inline)) __u64 search_at(const struct search *s)
{
	return s->below + (s->rest + 1) / 2 - 1;
}

/*
 * Returns a number whose top bit is set if a < b, for any a and b; search_turn() uses only that
 * bit. If the two differ by less than 2^63, a - b suffices.
 */
static inline __attribute__((always_inline)) __u64 search_difference(__u64 a, __u64 b)
{
	return (~a & b) | ((~a | b) & (a - b));
}

/* Does a step; difference: value minus element search_at(). n steps search 2^n - 1 elements. */
static inline __attribute__((always_inline)) void search_turn(struct search *s, __u64 difference)
{
	__u64 half = (s->rest + 1) / 2;

	barrier_var(difference); /* keeps compilers from making a branch of the next lines */
	s->below += half & ((difference >> 63) - 1);
	s->rest -= half;
}

#endif
