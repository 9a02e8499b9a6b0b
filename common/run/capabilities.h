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
 * Returns the names of those that are not held, "CAP_BPF and CAP_PERFMON"; "": none. held: a bit
 * each (1 << number). CAP_SYS_ADMIN stands in for some of them, as in the kernel. Returns buf.
 */
char *capabilities_missing(char *buf, size_t size, uint64_t held, bool required);

/* Is the one of that number (<linux/capability.h>) in effect? */
bool capabilities_have(unsigned int number);

/*
 * Says, as a hint, why the kernel has refused: what is missing, or what else can be the reason if
 * nothing is.
 */
void capabilities_explain(void);

/* Says what the run has to do without, if anything. */
void capabilities_announce(void);

/* The table of "tracelets check". */
void capabilities_print(FILE *f);

#endif
