// SPDX-License-Identifier: GPL-2.0-only
/* Allocation that cannot fail; see mem.h. */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/msg.h"

#define KEPT_BLOCK_BYTES (32 << 20)  /* maximum of M_MMAP_THRESHOLD, mallopt(3) */
#define USUAL_BYTES	 (128 << 10) /* default of both thresholds, mallopt(3) */

void *mem_check(void *p)
{
	if (!p) {
		msg_errno(-ENOMEM, "memory: allocation failed");
		exit(1);
	}
	return p;
}

void *mem_zalloc(size_t n, size_t size)
{
	return mem_check(calloc(n ? n : 1, size ? size : 1));
}

void *mem_realloc(void *p, size_t n, size_t size)
{
	return mem_check(reallocarray(p, n ? n : 1, size));
}

char *mem_strdup(const char *s)
{
	return mem_check(strdup(s));
}

char *mem_strndup(const char *s, size_t n)
{
	return mem_check(strndup(s, n));
}

char *mem_printf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&s, fmt, ap);
	va_end(ap);
	return mem_check(len < 0 ? NULL : s);
}

char *mem_escape(const char *s)
{
	size_t size = strlen(s) * strlen("\\xNN") + 1;

	return escape_string(mem_zalloc(size, 1), size, s, NULL);
}

char *mem_escape_short(const char *s, size_t max)
{
	char *whole = mem_escape(s), *result;
	size_t length = strlen(whole), part = max / 2 - 1;
	const char *tail;

	if (length <= max)
		return whole;
	tail = whole + length - part;
	while ((whole[part] & 0xc0) == 0x80) /* inside of a character */
		part--;
	while ((*tail & 0xc0) == 0x80)
		tail++;
	result = mem_printf("%.*s..%s", (int)part, whole, tail);
	free(whole);
	return result;
}

void *mem_grow(void *p, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return p;
	*cap = *cap ? *cap * 2 : 8;
	return mem_realloc(p, *cap, size);
}

void mem_keep_freed(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES);
#endif
	mem_keep_small();
}

void mem_keep_small(void)
{
#ifdef __GLIBC__
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

void mem_give_back(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, USUAL_BYTES);
	mallopt(M_TRIM_THRESHOLD, USUAL_BYTES);
	malloc_trim(0);
#endif
}
