/* SPDX-License-Identifier: GPL-2.0-only */
/* The order of two numbers, as qsort() and bsearch() want it told. */
#ifndef ORDER_H
#define ORDER_H

#include <stdint.h>

static inline int order_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
