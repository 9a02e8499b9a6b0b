/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds source lines and inlined functions of one ELF file by libdw, from the DWARF in the file
 * itself or in its separate debug file; for Go functions from the Go runtime's table, with or
 * without DWARF. Results are cached.
 */
#ifndef SRCLINES_H
#define SRCLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SRCLINES_MAX_FRAMES 32 /* maximum frames at one address: the outermost are dropped */

struct srclines;
struct debug_place; /* debugfile.h */

/* A function that contains an address. */
struct srcframe {
	const char *function; /* NULL: the symbol table's name */
	const char *file;     /* path as on the compiler's command line; NULL: unknown */
	uint32_t line;
};

/* Reasons why lines or inlined functions can't be shown. */
enum srclines_lack {
	SRCLINES_ALL,
	SRCLINES_NO_DWARF,
	SRCLINES_NO_ZSTD,   /* compressed with zstd, which this libelf doesn't support */
	SRCLINES_NO_SHARED, /* the file with shared parts is missing: debugfile_open_shared() */
	SRCLINES_SPLIT,	    /* inlined functions are in split DWARF, which is not read */
};

/*
 * Opens the lines of an ELF file. fd and the contents of place are borrowed until srclines_free().
 * as_mangled: functions have mangled names. lack (unless NULL) receives the reason for missing
 * lines. NULL: neither DWARF nor a Go program.
 */
struct srclines *srclines_open(int fd, const struct debug_place *place, bool as_mangled,
			       enum srclines_lack *lack);
void srclines_free(struct srclines *lines);

/* Returns the memory in bytes, estimated from section sizes: libdw doesn't report it. */
size_t srclines_bytes(const struct srclines *lines);

/*
 * Finds the functions that contain an ELF virtual address: the innermost inlined one first, the one
 * that is not inlined last, each with the line that is being executed in it. Returns their number;
 * 0: unknown. *frames is valid until srclines_free().
 */
size_t srclines_find(struct srclines *lines, uint64_t vaddr, const struct srcframe **frames);

#endif
