/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decodes Python code objects in the traced process's memory: texts (PEP 393) and co_linetable
 * (Objects/locations.md in CPython; PEP 626 in 3.10, co_lnotab before: Objects/lnotab_notes.txt).
 * All input is hostile until checked.
 */
#ifndef PYTHON_CODE_H
#define PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/python.h"

/*
 * Decodes a text to valid UTF-8, from at most n_bytes: surrogates and invalid characters become
 * '?'. Freed with free(). Empty if its kind is unknown.
 */
char *python_text_decode(const struct python_text *text, const uint8_t *bytes, size_t n_bytes);

/*
 * Returns the line of the instruction of that index; 0: it has none, or the table is broken. Before
 * 3.11 an index past INT32_MAX says that there has been none yet: then it is the first line.
 */
uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t n_bytes,
		     uint32_t first_line, uint32_t instruction);

#endif
