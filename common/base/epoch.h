/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one clock by which caches release what they hold. An epoch lasts 15 s. The owner of the
 * caches counts epochs and lets each cache age, which releases what is not in use and was not used
 * for two epochs: 15 to 30 seconds. A full cache releases all that is not in use; full is one with
 * twice as many entries as it had left before, and some more.
 */
#ifndef EPOCH_H
#define EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define EPOCH_NS      (15 * NS_PER_S)
#define EPOCHS_UNUSED 2

/* A member of the cache; all zero in the beginning. */
struct cache_age {
	uint32_t epoch; /* in which an entry that is used now is used */
	size_t n_left;	/* entries when it was last full, or an epoch began */
	bool is_full, is_due;
};

static inline bool cache_is_full(const struct cache_age *age, size_t n, size_t some)
{
	return n >= 2 * age->n_left + some;
}

/* Begins to age a cache of n entries. It may also age in the middle of an epoch. */
static inline void cache_begin_age(struct cache_age *age, uint32_t epoch, size_t n, size_t some)
{
	age->is_full = cache_is_full(age, n, some);
	age->is_due = age->is_full || epoch != age->epoch;
	age->epoch = epoch;
}

/* Returns true if an entry is to go. used: the latest epoch in which it was used. */
static inline bool cache_lets_go(const struct cache_age *age, uint32_t used)
{
	return age->is_full || age->epoch - used >= EPOCHS_UNUSED;
}

static inline void cache_end_age(struct cache_age *age, size_t n)
{
	if (age->is_due)
		age->n_left = n;
}

#endif
