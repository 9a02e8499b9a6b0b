/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes names from the traced side (comm, paths, symbols) safe to print: control bytes, C1
 * controls, invalid UTF-8 (RFC 3629) and the bytes in `also` (";" in folded stacks) become \xNN.
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdio.h>

/* Returns the length in bytes of the first character of s if it is printable unescaped, else 0. */
size_t escape_printable_bytes(const char *s, const char *also);

/* Returns the length in bytes of the start of s that is printable unescaped. */
size_t escape_printable_run(const char *s, const char *also);

/* Writes s, escaped, to f. */
void escape_print(FILE *f, const char *s, const char *also);

/* Returns a thread's name, or "[no name]" if it is empty. */
const char *escape_no_name(const char *comm);

/* Writes s, escaped, into buf: always terminated, truncated at a whole character. Returns buf. */
char *escape_string(char *buf, size_t size, const char *s, const char *also);

#endif
