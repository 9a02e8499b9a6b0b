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
 * Decodes at most n_bytes of a text to UTF-8: surrogates and invalid characters become '?'. Empty
 * if the text's kind is unknown. Freed with free().
 */
char *python_text_decode(const struct python_text *text, const uint8_t *bytes, size_t n_bytes);

/*
 * Returns the line of an instruction, given by its index; 0: the instruction has no line, or the
 * table is broken. Before 3.11 an index of INT32_MAX or more means that no instruction was executed
 * yet: returns the first line.
 */
uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t n_bytes,
		     uint32_t first_line, uint32_t instruction);

#endif
