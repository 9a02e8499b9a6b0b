/* SPDX-License-Identifier: GPL-2.0-only */
/* A pool of interned strings: equal strings have equal addresses. */
#ifndef STRPOOL_H
#define STRPOOL_H

#include <stddef.h>

struct strpool;

struct strpool *strpool_new(void);
void strpool_free(struct strpool *pool);

/* Returns the pool's copy of s, valid until strpool_free(). */
const char *strpool_intern(struct strpool *pool, const char *s);

size_t strpool_count(const struct strpool *pool);
size_t strpool_bytes(const struct strpool *pool); /* memory of the strings, about */

#endif
