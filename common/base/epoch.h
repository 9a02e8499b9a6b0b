/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The schedule by which caches release entries. An epoch lasts 15 s. The owner of the caches
 * counts epochs and ages each cache. Aging releases entries that are not in use and were last used
 * two or more epochs ago (15 to 30 s). A full cache, with at least twice the entries that its last
 * aging left plus a margin, releases all entries that are not in use.
 */
#ifndef EPOCH_H
#define EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define EPOCH_NS      (15 * NS_PER_S)
#define EPOCHS_UNUSED 2

/* Aging state of a cache; initially all zero. */
struct cache_age {
	uint32_t epoch; /* current epoch */
	size_t n_left;	/* entries left by the last aging that was due */
	bool is_full, is_due;
};

/* Returns true if a cache of n entries is full. some: the margin, in entries. */
static inline bool cache_is_full(const struct cache_age *age, size_t n, size_t some)
{
	return n >= 2 * age->n_left + some;
}

/* Begins to age a cache: in a new epoch or, if it is full, at any time. */
static inline void cache_begin_age(struct cache_age *age, uint32_t epoch, bool is_full)
{
	age->is_full = is_full;
	age->is_due = age->is_full || epoch != age->epoch;
	age->epoch = epoch;
}

/* Returns true if an entry that is not in use is to be released. used: epoch of its last use. */
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
