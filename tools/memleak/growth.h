/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds numbers that keep growing, by their values at the end of each interval. Caches go up and
 * down; leaks go up only. So a number grows if it has gone up in GROWTH_INTERVALS consecutive
 * intervals, each time to a new maximum; an interval without change is skipped. For a number that
 * moves at random about a level, that happens once in (GROWTH_INTERVALS + 1)! intervals.
 */
#ifndef GROWTH_H
#define GROWTH_H

#include <stddef.h>
#include <stdint.h>

#define GROWTH_INTERVALS 6

struct growth {
	uint64_t id;
	uint64_t bytes, count;		/* at the end of this interval */
	int64_t bytes_more, count_more; /* growth since the end of the previous one */
	uint64_t most_bytes;		/* that it ever had */
	uint32_t n_rises;		/* in a row */
	uint32_t interval;		/* of the latest value */
};

struct growths;

struct growths *growths_new(void);
void growths_free(struct growths *growths);

/*
 * An interval has ended: growths_set() with its value for each id; ids without a value have 0, and
 * are dropped, with their maximum, after GROWTH_INTERVALS intervals.
 */
void growths_next(struct growths *growths);
void growths_set(struct growths *growths, uint64_t id, uint64_t bytes, uint64_t count);

/* Returns the growth of an id that was set before. NULL if it doesn't keep growing. */
const struct growth *growths_find(const struct growths *growths, uint64_t id);

#endif
