/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbols of what lies behind executable mappings: files, the vdso, anonymous memory. One dso
 * stands for all mappings of a file in all processes. The file stays open from the moment it is
 * first met, so that names survive the process and the file's name, and so that tables of symbols
 * can be dropped and read again.
 */
#ifndef DSO_H
#define DSO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/image.h"
#include "process/maps.h"
#include "symbols/srclines.h"

struct background;
struct dso;
struct dso_cache; /* owns its dsos */

struct dso_options {
	bool as_mangled; /* C++ and Rust names stay as they are in the files */
	bool lines;	 /* for dso_lines() */
	bool places;	 /* for dso_place(), and whoever asks it */

	/*
	 * What all tables of symbols may take, but for the one in use; 0: anything. DWARF counts
	 * with the size of its sections, which is about what it takes.
	 */
	uint64_t max_bytes;
	bool drops_all; /* none stays after a report: the next one is far */

	struct background *background; /* for dso_expect(); NULL: it does nothing */
};

struct dso_cache *dso_cache_new(const struct dso_options *options);
void dso_cache_free(struct dso_cache *cache);

/* Keeps a dso over the next dso_cache_let_go(). */
void dso_mark(struct dso *dso);

/*
 * Frees the dsos that are not marked and that no process has mapped; unless at_once, only those of
 * which that was so in the last call, too. Removes all marks. Names that were found so far may be
 * forgotten, when they are many.
 */
void dso_cache_let_go(struct dso_cache *cache, bool at_once);
size_t dso_cache_count(const struct dso_cache *cache);

/* No table is in use any more: the latest one is dropped, too, if it alone takes too much. */
void dso_cache_end_report(struct dso_cache *cache);

/* Tables of symbols: what they take now, and how often one was dropped. */
struct dso_stats {
	uint64_t bytes, n_dropped;
};

struct dso_stats dso_cache_stats(const struct dso_cache *cache);

/*
 * The dso of one of a process's mappings. Never NULL: where the file cannot be had, the dso has a
 * name but no symbols.
 */
struct dso *dso_attach(struct dso_cache *cache, pid_t pid, struct maps *maps, struct mapped *m);

/* The address in terms of the dso: a file offset, or the address itself where there is no file. */
uint64_t dso_offset(const struct dso *dso, const struct mapped *m, uint64_t addr);

/*
 * A file offset as ELF counts addresses, which is what addr2line, objdump and gdb take. 0: the file
 * can't be read or has no code there.
 */
uint64_t dso_address(const struct dso *dso, uint64_t offset);

/*
 * Names of this dso will be asked for: its symbols are loaded in the background, unless those
 * loaded ahead take all the memory that there is for them.
 */
void dso_expect(struct dso *dso);

/*
 * The function that covers the offset, or NULL; valid until dso_cache_let_go(). Symbols are loaded
 * when they are not there.
 */
const char *dso_find(struct dso *dso, uint64_t offset);

/*
 * The image behind it, with *address as ELF counts (0: not known) and *symbol as the linker calls
 * the function (NULL: not known). The image lives as long as the dso, the symbol as a name does.
 */
const struct image *dso_place(struct dso *dso, uint64_t offset, uint64_t *address,
			      const char **symbol);

/* Its source line, and the functions inlined there, as srclines_find() has them. */
size_t dso_lines(struct dso *dso, uint64_t offset, const struct srcframe **frames);

/* Code made at run time whose names a JIT compiler tells, see jitmap.h. */
bool dso_is_jit(const struct dso *dso);

/* Memory without a file, and without names so far. */
bool dso_is_nameless_memory(const struct dso *dso);

/* The base name of its file, "[vdso]", "[anon]", ... */
const char *dso_name(const struct dso *dso);

#endif
