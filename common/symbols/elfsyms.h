/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The function symbols of one ELF file (System V gABI, chapter 4), from all sources that there are
 * (elfsources.h), as one sorted array. Files are controlled by the traced side and read as root:
 * every count and offset is bounded, and a broken file is an error, never a crash.
 *
 * Where several symbols share an address, the one that a person would expect wins: function over
 * notype, exported (global or weak) over local, then the one that covers more, then the one with
 * fewer leading underscores (read, which glibc makes weak, over __libc_read), then the shorter.
 * Data, section, file and TLS symbols, and symbols of absent sections, are never answers. A symbol
 * without a size reaches to the next symbol or the end of its section; where only exported ones are
 * known, as far as its instructions say that the code is its own (code_end.h). Inside of a sized
 * symbol it is a label, and never an answer. Versions (@@GLIBC_2.14) are left out of names.
 * Functions that the Go runtime knows have Go's own names, stripped or not: main.(*T).run, with
 * F[...] for F[int].
 */
#ifndef ELFSYMS_H
#define ELFSYMS_H

#include <stddef.h>
#include <stdint.h>

struct elfsyms;
struct debug_place; /* debugfile.h */

/*
 * Reads from an open file, which is not closed. place: where separate debug files may be; NULL:
 * nowhere. NULL with errno set.
 */
struct elfsyms *elfsyms_load(int fd, const struct debug_place *place);

/* Reads from an image in memory, such as the vdso (copied as needed). NULL with errno set. */
struct elfsyms *elfsyms_load_image(const void *image, size_t size);
void elfsyms_free(struct elfsyms *es);

/*
 * Returns the name of the function that covers the ELF virtual address; NULL if none does. Valid
 * until elfsyms_free(). *start, if wanted, is the function's first address.
 */
const char *elfsyms_find(const struct elfsyms *es, uint64_t vaddr, uint64_t *start);

/* The same with a demangled name, cached per symbol. */
const char *elfsyms_find_readable(struct elfsyms *es, uint64_t vaddr);

/*
 * Returns the ELF virtual address of a file offset, through the program headers (PT_LOAD,
 * executable segments only), so that files mapped in several segments at any offset come out right.
 * UINT64_MAX if no segment holds it.
 */
uint64_t elfsyms_vaddr(const struct elfsyms *es, uint64_t file_offset);

size_t elfsyms_count(const struct elfsyms *es);

/* Returns the memory that the symbols take now, in bytes. */
size_t elfsyms_bytes(const struct elfsyms *es);

#endif
