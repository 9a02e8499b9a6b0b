/* SPDX-License-Identifier: GPL-2.0-only */
/* CPython with the GIL, 3.8 to 3.15: see runtime.h. */
#ifndef PYTHON_H
#define PYTHON_H

#include "runtimes/python/layout.h"
#include "runtimes/runtime.h"

extern const struct runtime_code python_code;

/* ---- code objects in the traced process's memory, which are hostile until checked ---- */

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

/* ---- location of a thread's Python state, relative to its thread pointer ---- */

struct python_process {
	pid_t pid;
	const struct python_file *python;
	uint64_t bias;	     /* load address of the file in the process */
	int32_t self_offset; /* as in struct python_layout */
};

/*
 * Returns the offset of the state from the thread pointer; 0: not found. Without threads (none has
 * started yet, or the process can't be read) it may be found later; with threads another search is
 * not worthwhile. known: the offset found before, or 0; preferred among equals.
 */
int32_t python_place_find(const struct python_process *process, int32_t known, bool *has_threads);

#endif
