/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Source lines and inlined functions of one ELF file from its DWARF, in the file itself or in its
 * separate debug file, by libdw; for Go functions from the Go runtime's table, with or without
 * DWARF. Results are cached.
 */
#ifndef SRCLINES_H
#define SRCLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SRCLINES_MAX_FRAMES 32 /* of one address: deeper inlining is cut at the outer end */

struct srclines;
struct debug_place; /* debugfile.h */

/* A function that contains an address. */
struct srcframe {
	const char *function; /* NULL: the symbol table's name */
	const char *file;     /* as on the compiler's command line; NULL: unknown */
	uint32_t line;
};

/* Reasons why lines or inlined functions can't be shown. */
enum srclines_lack {
	SRCLINES_ALL,
	SRCLINES_NO_DWARF,
	SRCLINES_NO_ZSTD,   /* compressed in a way that this libelf doesn't support */
	SRCLINES_NO_SHARED, /* a shared part is in a missing file: debugfile_open_shared() */
	SRCLINES_SPLIT,	    /* inlined functions are in split DWARF, which is not read */
};

/*
 * fd and what place refers to stay the caller's, until srclines_free(). as_mangled: functions have
 * the linker's names. NULL: there is neither DWARF nor a Go program, or lack (unless NULL) is set
 * to the reason.
 */
struct srclines *srclines_open(int fd, const struct debug_place *place, bool as_mangled,
			       enum srclines_lack *lack);
void srclines_free(struct srclines *lines);

/* Returns the memory in bytes, estimated by the size of the sections: libdw doesn't say. */
size_t srclines_bytes(const struct srclines *lines);

/*
 * Finds the functions that hold an ELF virtual address: the innermost inlined one first, the one
 * that was compiled on its own last, each with the line that is being executed in it. 0: nothing is
 * known. *frames is valid until srclines_free().
 */
size_t srclines_find(struct srclines *lines, uint64_t vaddr, const struct srcframe **frames);

#endif
