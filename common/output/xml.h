/* SPDX-License-Identifier: GPL-2.0-only */
/* Text inside of XML documents (XML 1.0, sections 2.2 and 2.4). */
#ifndef XML_H
#define XML_H

#include <stdio.h>

#define XML_TEXT_LINES 1000 /* maximum in one element: libxml2 rejects texts of more than 10 MB */

/*
 * Writes s as character data that is also valid in a quoted attribute: markup becomes entities, and
 * bytes that are not allowed in XML (control bytes, invalid UTF-8, U+FFFE, U+FFFF) become \xNN as
 * in escape_print().
 */
void xml_print(FILE *f, const char *s);

/* Writes only the first n characters, not bytes; an escaped one counts as one. */
void xml_print_start(FILE *f, const char *s, size_t n);

/* Returns the number of characters that xml_print_start() counts in all of s. */
size_t xml_length(const char *s);

#endif
