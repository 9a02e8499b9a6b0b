/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of dsos, and what they are made of, for dso.c and dso_leave.c. */
#ifndef DSO_CACHE_H
#define DSO_CACHE_H

#include <stddef.h>
#include <sys/stat.h>

#include "base/hashtable.h"
#include "base/image.h"
#include "base/lru.h"
#include "process/files.h"
#include "symbols/debugfile.h"
#include "symbols/dso_options.h"
#include "symbols/file_syms.h"
#include "symbols/known_names.h"

struct jitmap;
struct roots;

enum dso_kind {
	DSO_FILE,   /* or the vdso */
	DSO_MEMORY, /* anonymous, or special and without symbols */
	DSO_JIT,    /* anonymous, of a process with a perf map: dev and ino are that file's */
};

struct dso {
	struct hashlink link; /* among all */
	struct dso_cache *cache;
	enum dso_kind kind;
	struct file *file;   /* NULL: memory, or the file was left */
	struct stat version; /* of a file that was left */
	char *name;	     /* of it, or of memory */
	dev_t dev;	     /* of a perf map */
	ino_t ino;
	bool is_useless;	  /* the file has no symbols, or has changed since it was opened */
	struct debug_place debug; /* where debug files may be; the roots are the cache's */
	struct elfsyms *syms;	  /* these three can be dropped at any time */
	struct srclines *lines;
	struct jitmap *jit;
	struct image place; /* for dso_place() */
	char build_id[2 * ELFFILE_BUILD_ID_MAX + 1];
	struct lru_item tables;
	struct syms_ahead ahead;
	bool was_dropped, is_marked, was_idle;
	bool was_unmapped, is_leaving;
	struct dso *next_leaving;
	struct idmap known; /* names of offsets */
};

struct dso_cache {
	struct dso_options options;
	struct hashtable dsos; /* by kind and what it is of */
	struct dso *leaving;   /* found by dso_cache_find_leaving() */
	size_t n_left;	       /* that have no file any more */
	struct roots *roots;
	struct lru tables;
	struct syms_room ahead; /* of those read ahead */
	uint64_t n_dropped;
	struct known_names names;
};

/* Owns its dsos. */
struct dso_cache *dso_cache_new(const struct dso_options *options);
void dso_cache_free(struct dso_cache *cache);

/* Returns the number of dsos that dso_cache_leave() hasn't released. */
size_t dso_cache_count(const struct dso_cache *cache);

/* One more in the table. */
struct dso *dso_new(struct dso_cache *cache, enum dso_kind kind, uint64_t hash);

/* Frees a dso that is not in the table any more. */
void dso_free(struct dso *dso);

/* Returns true if the dso's file was released (dso_leave.h); names found before remain. */
bool dso_has_left(const struct dso *dso);

/* Hash by which dsos of files are found. */
uint64_t dso_hash_file(const struct file *file);
uint64_t dso_hash_version(const struct stat *version);

/* Frees its tables of symbols, which can be read again; dropping them makes space. */
void dso_free_tables(struct dso *dso);
void dso_drop_tables(struct dso *dso);

#endif
