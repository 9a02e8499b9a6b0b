/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbols of executable mappings: files, the vdso, anonymous memory. One dso stands for all
 * mappings of a file in all processes. Its file stays open from its first mapping on, so that names
 * survive the process and the file's name, and so that symbol tables can be evicted and read again.
 * A file that processes no longer map can be released: the dso remains, with the names found so
 * far.
 */
#ifndef DSO_H
#define DSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/epoch.h"
#include "base/hashtable.h"
#include "base/idmap.h"
#include "base/image.h"
#include "base/lru.h"
#include "base/strpool.h"
#include "process/files.h"
#include "process/maps.h"
#include "symbols/debugfile.h"
#include "symbols/srclines.h"

struct dso_options {
	bool as_mangled; /* C++ and Rust names are not demangled */
	bool lines;	 /* reads DWARF, for dso_lines() */
	bool places;	 /* reads build-ids, for dso_place() */

	/*
	 * memory limit of all symbol tables except the one in use, in bytes; 0: none. DWARF counts
	 * as the size of its sections, about what libdw takes.
	 */
	uint64_t max_bytes;
	bool drops_all; /* release all tables after a report: reports are far apart */

	/* called for a process when an address in its JIT code is located; or NULL */
	void (*found_map)(pid_t pid, int map_fd, void *arg);
	void *arg;
};

/* Symbol tables: their current memory, and the number of evictions. */
struct dso_stats {
	uint64_t bytes, n_dropped;
};

/*
 * Cache of names by file and offset. It is much smaller than the symbol tables, which can therefore
 * be evicted. Strings of all files are interned.
 */

/* Name of an offset in a file, in interned strings. */
struct known_name {
	uint32_t used;	    /* latest epoch in which the name was looked up */
	const char *name;   /* NULL: no function covers the offset */
	const char *symbol; /* mangled name; NULL: unknown */
	size_t n_frames;
	struct srcframe frames[];
};

/* State shared by all files. */
struct known_names {
	struct strpool *strings;
	size_t count; /* number of cached offsets */
	struct cache_age age;
	struct cache_age strings_age;
	struct strpool *former; /* old string pool, while the names age */
};

void known_names_init(struct known_names *names);
void known_names_free(struct known_names *names);

/* Interns a string; returns NULL for NULL. */
const char *known_names_keep(struct known_names *names, const char *string);

/* Caches a copy of the result for an offset that isn't in the cache yet. */
const struct known_name *known_names_add(struct known_names *names, struct idmap *offsets,
					 uint64_t offset, const struct known_name *found,
					 const struct srcframe *frames);

/* Frees all cached names of one file. */
void known_names_free_offsets(struct known_names *names, struct idmap *offsets);

/* Returns true if the cache has grown so much that aging releases all names but the latest. */
bool known_names_are_many(const struct known_names *names);

/*
 * Release names by age (epoch.h), in this order: begin; age the offsets of each file; end, which
 * frees the unused strings.
 */
void known_names_begin_age(struct known_names *names, uint32_t epoch);
void known_names_age(struct known_names *names, struct idmap *offsets);
void known_names_end_age(struct known_names *names);

struct jitmap;
struct roots;

enum dso_kind {
	DSO_FILE,   /* a file or the vdso */
	DSO_MEMORY, /* anonymous, or special and without symbols */
	DSO_JIT,    /* anonymous, with a perf map, identified by dev and ino */
};

struct dso {
	struct hashlink link; /* entry in dso_cache.dsos */
	struct dso_cache *cache;
	enum dso_kind kind;
	struct file *file;   /* NULL: memory, or the file was released */
	struct stat version; /* identity of a released file */
	char *name;	     /* name of a released file, or of memory; NULL: file->name */
	dev_t dev;	     /* device and inode of the perf map; 0: none */
	ino_t ino;
	bool is_useless; /* the file has no symbols, or has changed since it was opened */
	/* search path; root_fd is borrowed from the cache's roots */
	struct debug_place debug;
	struct elfsyms *syms; /* syms, lines and jit can be evicted at any time */
	struct srclines *lines;
	struct jitmap *jit;
	struct image place; /* result of dso_place() */
	char build_id[2 * ELFFILE_BUILD_ID_MAX + 1];
	struct lru_item tables;
	bool was_dropped;
	uint32_t used; /* latest epoch in which the dso was attached or mapped */
	uint32_t n_users;
	bool is_leaving;
	struct dso *next_leaving;
	struct idmap known; /* cached names, by offset */
};

struct dso_cache {
	struct dso_options options;
	struct hashtable dsos; /* hashed by file, or by perf map and name */
	struct dso *leaving;   /* dsos whose files dso_cache_age() is releasing */
	size_t n_fileless;     /* number of dsos whose file was released */
	struct cache_age age;
	struct roots *roots;
	struct lru tables;
	uint64_t n_dropped;
	struct known_names names;
};

/* Creates the cache, which owns its dsos. */
struct dso_cache *dso_cache_new(const struct dso_options *options);
void dso_cache_free(struct dso_cache *cache);

/* Add or drop a user of a dso (NULL: no effect). A file is released when no process maps it. */
void dso_hold(struct dso *dso);
void dso_release(struct dso *dso);

/*
 * Releases by age (epoch.h): dsos without users and mappings, files that no process maps, and
 * cached names. A dso with users outlives its file and retains its cached names. Before files are
 * released, find_names() is called to look up the required names in the dsos for which
 * dso_is_leaving() is true.
 */
void dso_cache_age(struct dso_cache *cache, uint32_t epoch, void (*find_names)(void *arg),
		   void *arg);
bool dso_is_leaving(const struct dso *dso);

/* Returns true if dso_cache_age() releases all unused dsos and names, since they exceed a limit. */
bool dso_cache_is_full(const struct dso_cache *cache);

/* Evicts tables until the limit is met, even the latest one. Called when no table is in use. */
void dso_cache_end_report(struct dso_cache *cache);

struct dso_stats dso_cache_stats(const struct dso_cache *cache);

/*
 * Returns the dso of one of a process's mappings, never NULL: if the file can't be opened, the dso
 * has a name but no symbols.
 */
struct dso *dso_attach(struct dso_cache *cache, pid_t pid, struct maps *maps, struct mapped *m);

/* Converts an address to a file offset, or to itself if the dso has no file. */
uint64_t dso_offset(const struct dso *dso, const struct mapped *m, uint64_t addr);

/*
 * Converts a file offset to an ELF virtual address, as used by addr2line, objdump and gdb. 0: the
 * file can't be read or has no code there.
 */
uint64_t dso_address(const struct dso *dso, uint64_t offset);

/*
 * Returns the function that covers the offset, or NULL; valid until dso_cache_age(). Loads the
 * symbols if necessary.
 */
const char *dso_find(struct dso *dso, uint64_t offset);

/*
 * Returns the image, with the ELF virtual *address (0: unknown) and the function's mangled name in
 * *symbol (NULL: unknown). The image lives as long as the dso, *symbol until dso_cache_age().
 */
const struct image *dso_place(struct dso *dso, uint64_t offset, uint64_t *address,
			      const char **symbol);

/* Returns the source line and the inlined functions at the offset, as srclines_find() does. */
size_t dso_lines(struct dso *dso, uint64_t offset, const struct srcframe **frames);

/*
 * Access code with a perf map: the perf map's descriptor (-1: other code), and lookups by address
 * and by number, as in jitmap.h. A name is valid until dso_cache_age().
 */
bool dso_is_jit(const struct dso *dso);
int dso_made_fd(const struct dso *dso);
uint32_t dso_find_made(struct dso *dso, uint64_t addr, uint64_t size);
const char *dso_made_name(struct dso *dso, uint32_t number);

/* Returns true for memory without a file and without a perf map so far. */
bool dso_is_nameless_memory(const struct dso *dso);

/* Returns the file's base name, "[vdso]", "[anon]", ... */
const char *dso_name(const struct dso *dso);

/* Returns the negative errno of opening the file; 0: no error, or no file. */
int dso_error(const struct dso *dso);

#endif
