/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocation that cannot fail: running out of memory ends the process with a message and status 1.
 * Callers bound sizes that come from files. Results are freed with free().
 */
#ifndef MEM_H
#define MEM_H

#include <stddef.h>

/* Returns p, the result of an allocation; ends the process if that is NULL. */
void *mem_check(void *p);

/* Returns a zeroed block of n elements; overflow of n * size counts as out of memory. */
void *mem_zalloc(size_t n, size_t size) __attribute__((malloc));

/* Resizes p to n elements; the new part is not zeroed. */
void *mem_realloc(void *p, size_t n, size_t size);

char *mem_strdup(const char *s) __attribute__((malloc));
char *mem_strndup(const char *s, size_t n) __attribute__((malloc));
/* Returns a printable copy of s: see escape.h. */
char *mem_escape(const char *s) __attribute__((malloc));
/* Like mem_escape(); a copy of more than max bytes lacks its middle. */
char *mem_escape_short(const char *s, size_t max) __attribute__((malloc));

char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2), malloc));

/* Makes free() retain memory for reuse, for short phases with many allocations. */
void mem_keep_freed(void);

/* Like mem_keep_freed(), for small blocks only: large ones go back to the system at once. */
void mem_keep_small(void);

/* Ends a phase of mem_keep_*(): freed memory goes back to the system, now and from here on. */
void mem_give_back(void);

/*
 * Makes space for one more element of a growing array: returns p, moved if need be, with *cap
 * doubled when n has reached it.
 */
void *mem_grow(void *p, size_t n, size_t *cap, size_t size);

/* Appends an element to a growing array. Returns its address; it is not zeroed. */
#define MEM_APPEND(items, n, cap) \
	((items) = mem_grow((items), (n), &(cap), sizeof(*(items))), &(items)[(n)++])

#endif
