/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources of the function symbols of an ELF file, best first: its own .symtab; else that of a
 * separate debug file on this machine, else of MiniDebugInfo inside the file, else of one that
 * debuginfod has. The file's .dynsym, its PLT stubs and the functions that the Go runtime knows are
 * always added; the latter have Go's own names, where the linker's are decorated. For each address
 * the best of these candidates wins.
 */
#ifndef ELFSOURCES_H
#define ELFSOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrsort.h"
#include "elf/elffile.h"
#include "elf/elfsegs.h"
#include "elf/gopclntab.h"
#include "symbols/debugfile.h"

#define CANDIDATE_NAME_BITS 28
#define CANDIDATE_SIZE_BITS 30
#define CANDIDATE_MAX_BYTES ((1u << CANDIDATE_SIZE_BITS) - 1)
#define SYMBOL_NAME_MAX	    (64u << 10)

enum symbol_source {
	SOURCE_DYNSYM,
	SOURCE_SYMTAB,
	SOURCE_PLT,
	SOURCE_GO,
	N_SOURCES,
};

/* Properties of a symbol: the value of an addr_item. */
union candidate {
	struct {
		uint64_t name : CANDIDATE_NAME_BITS; /* offset in its source's strings */
		uint64_t size : CANDIDATE_SIZE_BITS; /* cut to CANDIDATE_MAX_BYTES */
		uint64_t source : 2;
		/* of two symbols at an address, the one with the higher value wins */
		uint64_t rank : 3;
	};
	uint64_t value;
};

struct source_strings {
	char *text;
	size_t size; /* size up to the last zero byte, so that every string is terminated */
};

struct elfsources {
	struct elfsegs segs;
	struct addr_item *candidates; /* ascending by address, one for each */
	size_t n_candidates, candidates_cap;
	struct addr_item *sections; /* sections with code, ascending; value: the end */
	size_t n_sections, sections_cap;
	struct source_strings strings[N_SOURCES];

	const struct elffile *file; /* not owned */
	struct elffile debug;
	int debug_fd;
	void *minidebug;
	size_t n_code_ends; /* that were searched for */
	const struct addr_item *last_section;
};

/*
 * place NULL: only the file itself. 0 or -errno; free it in either case. Callers that take over
 * candidates or strings set them to NULL.
 */
int elfsources_read(struct elfsources *s, const struct elffile *file,
		    const struct debug_place *place);
void elfsources_free(struct elfsources *s);

/* Returns true if all functions are known, not only the exported ones. */
bool elfsources_has_all(const struct elfsources *s);

/*
 * Returns the end of the code that certainly belongs to a function without size at addr; at most
 * limit: see code_end.h.
 */
uint64_t elfsources_code_end(struct elfsources *s, uint64_t addr, uint64_t limit);

/* Returns the section with code that holds addr, or NULL. */
const struct addr_item *elfsources_section(struct elfsources *s, uint64_t addr);

static inline const char *candidate_name(const struct elfsources *s, union candidate c)
{
	return s->strings[c.source].text + c.name;
}

#endif
