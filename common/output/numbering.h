/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers texts and records from 0; equal bytes have the same number. Writers use this for formats
 * that list each text or record once and refer to it by its number.
 */
#ifndef NUMBERING_H
#define NUMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashtable.h"
#include "base/idmap.h"

/* All zero: empty. */
struct numbering {
	struct hashtable by_bytes;
	struct idmap by_address;
	struct numbered **list;
	size_t cap;
};

/* Returns the number of these bytes; new bytes get the count so far as their number. */
uint64_t numbering_add(struct numbering *numbering, const void *bytes, size_t n);

static inline size_t numbering_count(const struct numbering *numbering)
{
	return numbering->by_bytes.count;
}

/* Returns the bytes of a number, followed by a 0. */
const void *numbering_bytes(const struct numbering *numbering, uint64_t number);

/*
 * Cache the number of an address's contents, which must not change while it is cached.
 * numbering_known() returns true if it is cached, and sets *number; numbering_remember() returns
 * number.
 */
bool numbering_known(const struct numbering *numbering, const void *at, uint64_t *number);
uint64_t numbering_remember(struct numbering *numbering, const void *at, uint64_t number);

/* Frees the contents: the numbering is empty then. */
void numbering_free(struct numbering *numbering);

#endif
