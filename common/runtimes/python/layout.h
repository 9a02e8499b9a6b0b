/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout of the frames of a CPython build, from its file: the only unit that depends on versions.
 * Up to 3.12 the offsets are constants here, since they no longer change; from 3.13 on they are
 * read from the file (struct _Py_DebugOffsets, Include/internal/pycore_debug_offsets.h).
 */
#ifndef PYTHON_LAYOUT_H
#define PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/python.h"
#include "elf/elf64.h"

struct python_file {
	const char *refused; /* reason why its frames can't be walked; NULL: they can */
	/* PY_VERSION_HEX; before 3.11 only major and minor */
	uint32_t version;
	uint64_t runtime;	/* ELF virtual address of _PyRuntime */
	bool has_threads_below; /* struct pthread lies below the thread pointer */
	/* ELF addresses; per-process fields are 0 */
	struct python_layout layout;
};

/*
 * Reads a file, which is recognized by its exported symbols, not by its name; a few small reads
 * reject other files. Returns 0; -ENOENT: not Python 3.7 or later.
 */
int python_file_read(struct python_file *python, const struct elf64 *elf);

/*
 * Finds the layout by the version and by the first n words of _PyRuntime. Returns NULL, or the
 * reason why it is refused.
 */
const char *python_layout_find(struct python_file *python, const uint64_t *words, size_t n);

#define PYTHON_OFFSET_WORDS 64 /* number of words that are read of _PyRuntime */

#endif
