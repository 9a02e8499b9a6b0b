// SPDX-License-Identifier: GPL-2.0-only
/*
 * A radix sort, least significant digit first. Addresses of one file differ in 20 to 32 bits, so
 * two or three passes suffice; sorted input costs one pass.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "base/addrsort.h"
#include "base/mem.h"
#include "base/search.h"

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

static bool is_sorted(const struct addr_item *items, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (items[i].addr < items[i - 1].addr)
			return false;
	return true;
}

/* Returns the bits in which the addresses differ. */
static uint64_t find_varying_bits(const struct addr_item *items, size_t n)
{
	uint64_t bits = 0;

	for (size_t i = 1; i < n; i++)
		bits |= items[i].addr ^ items[0].addr;
	return bits;
}

static unsigned int digit_of(uint64_t addr, unsigned int shift)
{
	return (addr >> shift) & (DIGITS - 1);
}

static void sort_by_digit(struct addr_item *to, const struct addr_item *from, size_t n,
			  unsigned int shift)
{
	size_t place[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		place[digit_of(from[i].addr, shift)]++;
	for (unsigned int d = 0; d < DIGITS; d++) {
		size_t count = place[d];

		place[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[place[digit_of(from[i].addr, shift)]++] = from[i];
}

void addrsort(struct addr_item *items, size_t n)
{
	struct addr_item *from = items, *to, *other;
	uint64_t varying;

	if (is_sorted(items, n))
		return;
	other = to = mem_zalloc(n, sizeof(*to));
	varying = find_varying_bits(items, n);
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct addr_item *sorted = to;

		if (!digit_of(varying, shift))
			continue;
		sort_by_digit(to, from, n, shift);
		to = from;
		from = sorted;
	}
	for (size_t i = 0; from != items && i < n; i++)
		items[i] = from[i];
	free(other);
}

size_t addrsort_rank(const struct addr_item *items, size_t n, uint64_t addr)
{
	return SEARCH_RANK(items, n, addr, addr);
}
