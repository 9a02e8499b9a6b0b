/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collects the function symbols of an ELF file from several sources, in this order: its own
 * .symtab, else that of a separate debug file on this machine, else MiniDebugInfo inside the file,
 * else a debug file from debuginfod. The file's .dynsym, its PLT stubs and the functions in Go's
 * runtime tables are always added; the last have undecorated Go names. For each address the best of
 * these candidates wins.
 */
#ifndef ELFSOURCES_H
#define ELFSOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

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

/* Properties of a symbol, packed into the value of an addr_item. */
union candidate {
	struct {
		uint64_t name : CANDIDATE_NAME_BITS; /* offset in the strings of its source */
		uint64_t size : CANDIDATE_SIZE_BITS; /* at most CANDIDATE_MAX_BYTES; 0: unknown */
		uint64_t source : 2;
		/* the highest rank at an address wins */
		uint64_t rank : 3;
	};
	uint64_t value;
};

static inline union candidate candidate_of(const struct addr_item *item)
{
	return (union candidate){ .value = item->value };
}

/* Strings of a source: in memory, or a section of a file. */
struct source_strings {
	char *text;	 /* ends with a zero byte; NULL: they are in the file */
	int fd;		 /* of the file; borrowed */
	uint64_t offset; /* in the file */
	size_t size;	 /* 0: no such source */
};

/*
 * Names of candidates. In large files they take tens of megabytes, and few are requested: names of
 * symbol tables stay in the file. symbol_names_free() is required.
 */
struct symbol_names {
	struct source_strings sources[N_SOURCES];
	int debug_fd;		  /* separate debug file, owned; -1: none */
	struct stat debug_status; /* its status at open */
	/* the part of a source's strings that was read last */
	char *window;
	enum symbol_source source;
	size_t start, bytes;
};

struct elfsources {
	struct elfsegs segs;
	/* ascending; several at an address have equal ranks and sizes */
	struct addr_item *candidates;
	size_t n_candidates, candidates_cap;
	struct addr_item *sections; /* code sections, ascending; value: the end address */
	size_t n_sections, sections_cap;
	struct symbol_names names;

	const struct elffile *file; /* borrowed */
	struct elffile debug;
	void *minidebug;
	size_t n_code_ends; /* number of calls of elfsources_code_end() */
	const struct addr_item *last_section;
};

/*
 * Reads all sources. place NULL: no separate debug files. Returns 0 or -errno; elfsources_free() is
 * required in either case. A caller that takes over candidates or names sets them to NULL, or to
 * NO_NAMES. The file must stay open for as long as its names are read.
 */
int elfsources_read(struct elfsources *s, const struct elffile *file,
		    const struct debug_place *place);
void elfsources_free(struct elfsources *s);

/* Returns true if a .symtab was found: all functions are known, not only the exported ones. */
bool elfsources_has_all(const struct elfsources *s);

/*
 * Returns the end of the code that provably belongs to the function without size at addr, at most
 * limit: see code_end.h.
 */
uint64_t elfsources_code_end(struct elfsources *s, uint64_t addr, uint64_t limit);

/* Returns the code section that contains addr, or NULL. */
const struct addr_item *elfsources_section(struct elfsources *s, uint64_t addr);

#define NO_NAMES ((struct symbol_names){ .debug_fd = -1 })

/*
 * Returns the best name of an address, valid until the next call; NULL: none, overlong or
 * unreadable. items[last]: the last item with this address; values are union candidate.
 */
const char *symbol_names_best(struct symbol_names *names, const struct addr_item *items,
			      size_t last);

/* Returns true if there is no separate debug file, or it still has the contents of its opening. */
bool symbol_names_are_current(const struct symbol_names *names);
void symbol_names_free(struct symbol_names *names);

#endif
