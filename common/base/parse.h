/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses numbers of the command line. Text like "12abc", "1x" and "", and numbers out of range, are
 * refused. Each function prints the reason (`what` names the option) and returns 0 or -EINVAL.
 */
#ifndef PARSE_H
#define PARSE_H

#include <stdint.h>

/* Parses a number: decimal, or hexadecimal with 0x; min and max are inclusive. */
int parse_uint(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out);

/*
 * Parses a duration: "5", "1.5", "10ms", "2us", "100ns", "1m". unit_ns: the default unit. The
 * maximum is PARSE_DURATION_MAX_NS: added to any clock's time, it is less than 2^63.
 */
#define PARSE_DURATION_MAX_NS ((uint64_t)INT64_MAX / 2)

int parse_duration(const char *what, const char *text, uint64_t unit_ns, uint64_t *out_ns);

/* Parses a size in bytes: "4096", "64K", "8M", "1G". */
int parse_size(const char *what, const char *text, uint64_t *out_bytes);

/* Parses a decimal fraction: "0.1", "12"; min and max are inclusive. */
int parse_decimal(const char *what, const char *text, double min, double max, double *out);

/* Calls add for each number of a comma-separated list, until add fails. Refuses empty items. */
int parse_list(const char *what, const char *text, uint64_t min, uint64_t max,
	       int (*add)(uint64_t value, void *arg), void *arg);

#endif
