/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbols of executable mappings: files, the vdso, anonymous memory. One dso stands for all
 * mappings of a file in all processes. Its file stays open from its first mapping on, so that names
 * survive the process and the file's name, and so that tables of symbols can be evicted and read
 * again. A file that no process maps any more can be released: the dso remains, with the names that
 * were found before.
 */
#ifndef DSO_H
#define DSO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/image.h"
#include "process/maps.h"
#include "symbols/dso_options.h"
#include "symbols/srclines.h"

struct dso;
struct dso_cache; /* of dso_cache_new() */

/* No table is in use any more: the latest one is dropped, too, if it alone takes too much. */
void dso_cache_end_report(struct dso_cache *cache);

struct dso_stats dso_cache_stats(const struct dso_cache *cache);

/*
 * Returns the dso of one of a process's mappings. Never NULL: where the file cannot be had, the dso
 * has a name but no symbols.
 */
struct dso *dso_attach(struct dso_cache *cache, pid_t pid, struct maps *maps, struct mapped *m);

/*
 * Returns the address in terms of the dso: a file offset, or the address itself if there is no
 * file.
 */
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
 * Returns the function that covers the offset, or NULL; valid until dso_cache_release(). Symbols
 * are loaded when they are not there.
 */
const char *dso_find(struct dso *dso, uint64_t offset);

/*
 * Returns the image, with *address as ELF counts (0: not known) and *symbol as the linker calls the
 * function (NULL: not known). The image lives as long as the dso, the symbol as a name does.
 */
const struct image *dso_place(struct dso *dso, uint64_t offset, uint64_t *address,
			      const char **symbol);

/* Its source line, and the functions inlined there, as srclines_find() has them. */
size_t dso_lines(struct dso *dso, uint64_t offset, const struct srcframe **frames);

/*
 * For code made at run time whose names a JIT compiler writes: its file, -1 for other code, and the
 * file's answers for an address and for a number, as in jitmap.h. The name is valid as one found.
 */
bool dso_is_jit(const struct dso *dso);
int dso_made_fd(const struct dso *dso);
uint32_t dso_find_made(struct dso *dso, uint64_t addr, uint64_t size);
const char *dso_made_name(struct dso *dso, uint32_t number);

/* Memory without a file, and without names so far. */
bool dso_is_nameless_memory(const struct dso *dso);

/* Returns the base name of its file, "[vdso]", "[anon]", ... */
const char *dso_name(const struct dso *dso);

/* Negative errno: its file could not be opened. */
int dso_error(const struct dso *dso);

#endif
