/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache of names by file and offset: few of those in a table of symbols, so that tables can be
 * evicted. Strings of all files are interned.
 */
#ifndef KNOWN_NAMES_H
#define KNOWN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idmap.h"
#include "base/strpool.h"
#include "symbols/srclines.h"

/* Name of an offset in a file, in interned strings. */
struct known_name {
	const char *name;   /* NULL: no function is there */
	const char *symbol; /* the same as the linker calls it */
	size_t n_frames;
	struct srcframe frames[];
};

/* State that all files share. */
struct known_names {
	struct strpool *strings;
	size_t count; /* of offsets */
};

void known_names_init(struct known_names *names);
void known_names_free(struct known_names *names);

/* Interns a string. NULL for NULL. */
const char *known_names_keep(struct known_names *names, const char *string);

/* offsets: a file's. NULL: not known. */
const struct known_name *known_names_find(const struct idmap *offsets, uint64_t offset);

/* Adds what is found at an offset, which isn't known; all of it is copied. */
const struct known_name *known_names_add(struct known_names *names, struct idmap *offsets,
					 uint64_t offset, const struct known_name *found,
					 const struct srcframe *frames);

/* Returns true if the cache is full: then each file's offsets are to be freed, ... */
bool known_names_are_many(const struct known_names *names);
void known_names_free_offsets(struct idmap *offsets);

/* ... and then the strings. */
void known_names_forget(struct known_names *names);

#endif
