/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Python says of a code object, as it lies in the traced process's memory: texts as PEP 393
 * has them, and co_linetable (Objects/locations.md in CPython; of 3.10 PEP 626, and before it
 * co_lnotab: Objects/lnotab_notes.txt). All of it is hostile until checked.
 */
#ifndef PYTHON_CODE_H
#define PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/python.h"

/*
 * A text as valid UTF-8, of which at most n_bytes are there: surrogates and what is no character
 * become '?'. Freed with free(). Empty where its kind is none.
 */
char *python_text_decode(const struct python_text *text, const uint8_t *bytes, size_t n_bytes);

/*
 * The line of the instruction of that index; 0: it has none, or the table is broken. Before 3.11 an
 * index past INT32_MAX says that there has been none yet: then it is the first line.
 */
uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t n_bytes,
		     uint32_t first_line, uint32_t instruction);

#endif
