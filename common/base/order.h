/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares two numbers; the result is as qsort() and bsearch() expect. */
#ifndef ORDER_H
#define ORDER_H

#include <stdint.h>

static inline int order_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
