/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers from the command line, whole or not at all: "12abc", "1x", "" and numbers out of range
 * are refused. Every function prints the reason (`what` names the option) and returns 0 or -EINVAL.
 */
#ifndef PARSE_H
#define PARSE_H

#include <stdint.h>

/* Decimal, or hexadecimal with 0x; min and max inclusive. */
int parse_uint(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out);

/*
 * "5", "1.5", "10ms", "2us", "100ns", "1m"; a number without a unit counts in units of unit_ns. At
 * most PARSE_DURATION_MAX_NS: added to any time of a clock it is less than 2^63.
 */
#define PARSE_DURATION_MAX_NS ((uint64_t)INT64_MAX / 2)

int parse_duration(const char *what, const char *text, uint64_t unit_ns, uint64_t *out_ns);

/* "4096", "64K", "8M", "1G", in bytes. */
int parse_size(const char *what, const char *text, uint64_t *out_bytes);

/* "0.1", "12"; min and max inclusive. */
int parse_decimal(const char *what, const char *text, double min, double max, double *out);

/* Calls add for each number of a comma-separated list. An empty item is refused. */
int parse_list(const char *what, const char *text, uint64_t min, uint64_t max,
	       int (*add)(uint64_t value, void *arg), void *arg);

#endif
