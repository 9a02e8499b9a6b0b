/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process's capabilities(7). No operation is refused in advance: it is tried, and the missing
 * capability is reported afterwards.
 */
#ifndef CAPABILITIES_H
#define CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes the names of missing capabilities to buf, "CAP_BPF, CAP_PERFMON"; "": none. Returns buf.
 * held: a bit for each held capability (1 << number); CAP_SYS_ADMIN implies some, as in the kernel.
 * required: considers the required capabilities, else the optional ones.
 */
char *capabilities_missing(char *buf, size_t size, uint64_t held, bool required);

/* Returns true if the capability with this number (<linux/capability.h>) is effective. */
bool capabilities_have(unsigned int number);

/* Prints a hint on why the kernel refused: missing capabilities, or other possible reasons. */
void capabilities_explain(void);

/* Prints which capabilities are missing, without which results will be incomplete. */
void capabilities_announce(void);

/* Prints the table of "tracelets check". */
void capabilities_print(FILE *f);

#endif
