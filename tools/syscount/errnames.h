/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of error numbers, from the system's headers at build time, and of the few that the kernel
 * keeps to itself: a call that a signal interrupts returns ERESTART..., and is begun again.
 */
#ifndef ERRNAMES_H
#define ERRNAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the printed name, in buf: "ENOENT", "[600]". */
char *errname_label(char *buf, size_t size, uint32_t error);

/* Reads a name or a number between 1 and 4095; what: the option. 0, or -EINVAL, printed. */
int errname_parse(const char *what, const char *text, uint32_t *error);

/* True for ERESTART...: the call has not failed. */
bool errname_is_restart(uint32_t error);

#endif
