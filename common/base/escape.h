/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names from the traced side (comm, paths, symbols) made safe to print: control bytes, C1 controls
 * and invalid UTF-8 (RFC 3629) become \xNN; so do the bytes in `also` (";" in folded stacks).
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdio.h>

/* Returns the bytes of the character that s begins with if it can be printed as it is, else 0. */
size_t escape_printable_bytes(const char *s, const char *also);

/* Returns the bytes at the start of s that can be printed as they are. */
size_t escape_printable_run(const char *s, const char *also);

/* Writes s, escaped, to f. */
void escape_print(FILE *f, const char *s, const char *also);

/* Returns a thread's name for printing: "[no name]" if it is empty. */
const char *escape_no_name(const char *comm);

/* Escapes into a buffer of size bytes, always terminated, cut at a whole character. Returns buf. */
char *escape_string(char *buf, size_t size, const char *s, const char *also);

#endif
