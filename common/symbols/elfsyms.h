/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The function symbols of one ELF file (System V gABI, chapter 4), from all available sources,
 * as one sorted array. Files are controlled by the traced side and read as root:
 * every count and offset is bounded, and a broken file is an error, never a crash.
 *
 * If several symbols share an address, one is chosen: function over notype, exported (global or
 * weak) over local, then the larger one, then the one with fewer leading underscores (read, which
 * glibc makes weak, over __libc_read), then the shorter. Data, section, file and TLS symbols, and
 * symbols of absent sections, are ignored. A symbol without a size reaches to the next symbol or
 * the end of its section; if only exported symbols are known, it reaches as far as its instructions
 * prove (code_end.h). A symbol without a size inside a sized one is a label, and ignored. Versions
 * (@@GLIBC_2.14) are left out of names. Functions in Go's runtime tables have Go's own names,
 * stripped or not: main.(*T).run, with F[...] for F[int].
 */
#ifndef ELFSYMS_H
#define ELFSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elfsyms;
struct debug_place; /* debugfile.h */

/*
 * Reads the symbols of an open file. fd is borrowed until elfsyms_free(), because names are read
 * when they are requested. If the file may change, the caller checks after each name that it has
 * not, and elfsyms_are_current(). place: search path of separate debug files; NULL: none. Returns
 * NULL with errno set on failure.
 */
struct elfsyms *elfsyms_load(int fd, const struct debug_place *place);

/*
 * Reads the symbols of an image in memory, such as the vdso (copied as needed). Returns NULL with
 * errno set on failure.
 */
struct elfsyms *elfsyms_load_image(const void *image, size_t size);
void elfsyms_free(struct elfsyms *es);

/*
 * Returns the name of the function that covers the ELF virtual address; NULL if none does. Valid
 * until elfsyms_free(). *start (unless NULL) receives the function's first address.
 */
const char *elfsyms_find(struct elfsyms *es, uint64_t vaddr, uint64_t *start);

/*
 * Returns the demangled name of the function that covers the address, cached per symbol; else as
 * elfsyms_find().
 */
const char *elfsyms_find_readable(struct elfsyms *es, uint64_t vaddr);

/*
 * Converts a file offset to an ELF virtual address through the executable PT_LOAD program headers.
 * Handles files mapped in several segments at any offset. UINT64_MAX if no segment contains it.
 */
uint64_t elfsyms_vaddr(const struct elfsyms *es, uint64_t file_offset);

/* Returns false if the separate debug file has changed: names may be wrong. */
bool elfsyms_are_current(const struct elfsyms *es);

size_t elfsyms_count(const struct elfsyms *es);

/* Returns the current memory of the symbols, in bytes. */
size_t elfsyms_bytes(const struct elfsyms *es);

#endif
