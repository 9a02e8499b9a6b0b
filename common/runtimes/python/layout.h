/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout of the frames of a CPython build, from its file: the one unit that knows versions. Up to
 * 3.12 offsets are written down here, since they don't change any more; from 3.13 on the file has
 * them itself (struct _Py_DebugOffsets, Include/internal/pycore_debug_offsets.h).
 */
#ifndef PYTHON_LAYOUT_H
#define PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/python.h"
#include "elf/elf64.h"

struct python_file {
	const char *refused; /* why its frames can't be walked; NULL: they can */
	/* PY_VERSION_HEX; only major and minor for old versions, which don't state it */
	uint32_t version;
	uint64_t runtime;	/* _PyRuntime, as ELF counts */
	bool has_threads_below; /* struct pthread lies below the thread pointer */
	/* without the fields that depend on the process; ELF addresses */
	struct python_layout layout;
};

/*
 * 0; -ENOENT: the file is not Python 3.7 or later. It is recognized by what it exports,
 * not by its name, and costs a few small reads if it isn't.
 */
int python_file_read(struct python_file *python, const struct elf64 *elf);

/*
 * Finds the layout by the version and by _PyRuntime, of which the first n words are given. Returns
 * NULL, or why it is refused.
 */
const char *python_layout_find(struct python_file *python, const uint64_t *words, size_t n);

#define PYTHON_OFFSET_WORDS 64 /* words of _PyRuntime that are read */

#endif
