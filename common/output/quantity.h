/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values with units, for people: "1.23 s", "4.5 MiB", "12,345 samples". A value with decimals
 * counts in units of 10^-decimals.
 */
#ifndef QUANTITY_H
#define QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#define QUANTITY_MAX 64 /* buffer size for any value, with a unit name of up to 32 bytes */

/* Returns the unit's name for a value: "call" for 1, else "calls". */
const char *quantity_unit(char buf[QUANTITY_MAX], uint64_t value, const char *unit);

/*
 * unit as in profile_unit(): "nanoseconds" and "microseconds" become times, "bytes" sizes, any
 * other unit is written after the number, escaped. Returns buf, always terminated.
 */
char *quantity_format(char buf[QUANTITY_MAX], uint64_t value, const char *unit);

/* Formats a value with decimals; numbers with a fraction have at most 7 digits. */
char *quantity_format_decimal(char buf[QUANTITY_MAX], uint64_t value, unsigned int decimals,
			      const char *unit);

/* Formats a value for a column: without its unit, unless that is a time or bytes. */
char *quantity_format_short(char buf[QUANTITY_MAX], uint64_t value, unsigned int decimals,
			    const char *unit);

/* Formats all digits, for programs: "12345", "0.25". Returns buf. */
char *quantity_digits(char buf[QUANTITY_MAX], uint64_t value, unsigned int decimals);

double quantity_double(uint64_t value, unsigned int decimals);

/*
 * Multiplies by 10^places; negative places divide, rounded to nearest. False, and nothing changed:
 * overflow of 64 bits.
 */
bool quantity_shift(uint64_t *value, int places);

#endif
