/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rights of the process, by its capabilities(7). Nothing is refused in advance: an operation is
 * tried, and this reports afterwards which capability it lacked.
 */
#ifndef CAPABILITIES_H
#define CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Returns the names of missing capabilities, "CAP_BPF, CAP_PERFMON"; "": none. held: a bit each
 * (1 << number). CAP_SYS_ADMIN stands in for some of them, as in the kernel. Returns buf.
 */
char *capabilities_missing(char *buf, size_t size, uint64_t held, bool required);

/* Returns true if the capability of that number (<linux/capability.h>) is effective. */
bool capabilities_have(unsigned int number);

/* Prints a hint on why the kernel refused: missing capabilities, or other possible reasons. */
void capabilities_explain(void);

/* Warns about what will be missing because of missing capabilities. */
void capabilities_announce(void);

/* Prints the table of "tracelets check". */
void capabilities_print(FILE *f);

#endif
