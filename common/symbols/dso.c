// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols of mappings. A file's dso is attached to its struct file (files.h), one for all processes
 * that map it; memory with a perf map has one dso per perf map and name.
 *
 * Symbol tables are large, and few of their names are needed. So found names are cached separately,
 * and the least recently used tables are evicted when all together take too much memory. Their
 * files stay open, to be read again, as long as a process maps them; files that no process has
 * mapped for a while are released, once the required names are resolved.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/lru.h"
#include "base/mem.h"
#include "base/msg.h"
#include "elf/elffile.h"
#include "process/files.h"
#include "process/roots.h"
#include "symbols/debugfile.h"
#include "symbols/dso.h"
#include "symbols/elfsyms.h"
#include "symbols/jitmap.h"
#include "symbols/srclines.h"

/* ---- symbols of files ---- */

/* Reads a file's symbols, freed with elfsyms_free(). NULL: none, or the file has changed. */
static struct elfsyms *file_syms_read(const struct file *file, const struct debug_place *place)
{
	struct elfsyms *syms = file_is_unchanged(file) ? elfsyms_load(file->fd, place) : NULL;

	if (!syms || file_is_unchanged(file))
		return syms;
	elfsyms_free(syms);
	return NULL;
}

/* ---- known names ---- */

#define MANY	     4096	/* some 250 bytes each */
#define MANY_STRINGS (6 * MANY) /* includes names of generated code, which has no offsets */

void known_names_init(struct known_names *names)
{
	*names = (struct known_names){ .strings = strpool_new() };
}

void known_names_free(struct known_names *names)
{
	strpool_free(names->strings);
}

const char *known_names_keep(struct known_names *names, const char *string)
{
	return string ? strpool_intern(names->strings, string) : NULL;
}

/* Finds the name of an offset. Keys are offset + 1, since idmap has no key 0. */
static const struct known_name *known_names_find(const struct known_names *names,
						 const struct idmap *offsets, uint64_t offset)
{
	struct known_name *known = idmap_find(offsets, offset + 1);

	if (known)
		known->used = names->age.epoch;
	return known;
}

const struct known_name *known_names_add(struct known_names *names, struct idmap *offsets,
					 uint64_t offset, const struct known_name *found,
					 const struct srcframe *frames)
{
	size_t n = found->n_frames;
	struct known_name *known = mem_zalloc(1, sizeof(*known) + n * sizeof(known->frames[0]));

	known->name = known_names_keep(names, found->name);
	known->symbol = known_names_keep(names, found->symbol);
	known->n_frames = n;
	known->used = names->age.epoch;
	for (size_t i = 0; i < n; i++)
		known->frames[i] = (struct srcframe){
			.function = known_names_keep(names, frames[i].function),
			.file = known_names_keep(names, frames[i].file),
			.line = frames[i].line,
		};
	idmap_add(offsets, offset + 1, known);
	names->count++;
	return known;
}

static void free_name(struct known_names *names, struct known_name *known)
{
	names->count--;
	free(known);
}

static bool free_any(void *known, void *names)
{
	free_name(names, known);
	return false;
}

void known_names_free_offsets(struct known_names *names, struct idmap *offsets)
{
	idmap_keep(offsets, free_any, names);
	idmap_free(offsets, NULL);
}

bool known_names_are_many(const struct known_names *names)
{
	return cache_is_full(&names->age, names->count, MANY) ||
	       cache_is_full(&names->strings_age, strpool_count(names->strings), MANY_STRINGS);
}

void known_names_begin_age(struct known_names *names, uint32_t epoch)
{
	cache_begin_age(&names->age, epoch, cache_is_full(&names->age, names->count, MANY));
	cache_begin_age(&names->strings_age, epoch,
			cache_is_full(&names->strings_age, strpool_count(names->strings),
				      MANY_STRINGS));
	names->former = names->strings;
	names->strings = strpool_new();
}

/* Releases a name by age, or moves its string into the new pool. */
static bool age_name(void *value, void *arg)
{
	struct known_name *known = value;
	struct known_names *names = arg;

	if (cache_lets_go(&names->age, known->used)) {
		free_name(names, known);
		return false;
	}
	known->name = known_names_keep(names, known->name);
	known->symbol = known_names_keep(names, known->symbol);
	for (size_t i = 0; i < known->n_frames; i++) {
		known->frames[i].function = known_names_keep(names, known->frames[i].function);
		known->frames[i].file = known_names_keep(names, known->frames[i].file);
	}
	return true;
}

void known_names_age(struct known_names *names, struct idmap *offsets)
{
	idmap_keep(offsets, age_name, names);
}

void known_names_end_age(struct known_names *names)
{
	strpool_free(names->former);
	names->former = NULL;
	cache_end_age(&names->age, names->count);
	cache_end_age(&names->strings_age, strpool_count(names->strings));
}

/* ---- dso cache ---- */

#define MANY_DSOS 256

struct dso_cache *dso_cache_new(const struct dso_options *options)
{
	struct dso_cache *cache = mem_zalloc(1, sizeof(*cache));

	cache->options = *options;
	if (!options->max_bytes)
		cache->options.max_bytes = UINT64_MAX;
	cache->roots = roots_new();
	known_names_init(&cache->names);
	return cache;
}

/* Frees a dso that is no longer in the table. */
static void dso_free(struct dso *dso)
{
	if (dso->file)
		dso->file->parts[FILE_SYMBOLS] = (struct file_part){};
	srclines_free(dso->lines);
	elfsyms_free(dso->syms);
	jitmap_free(dso->jit);
	known_names_free_offsets(&dso->cache->names, &dso->known);
	debug_place_free(&dso->debug);
	free(dso->name);
	free(dso);
}

static void free_link(struct hashlink *link)
{
	dso_free(container_of(link, struct dso, link));
}

void dso_cache_free(struct dso_cache *cache)
{
	if (!cache)
		return;
	hashtable_free(&cache->dsos, free_link);
	known_names_free(&cache->names);
	roots_free(cache->roots);
	free(cache);
}

static struct dso *dso_new(struct dso_cache *cache, enum dso_kind kind, uint64_t hash)
{
	struct dso *dso = mem_zalloc(1, sizeof(*dso));

	dso->cache = cache;
	dso->kind = kind;
	hashtable_add(&cache->dsos, &dso->link, hash);
	return dso;
}

/* Returns true if the dso's file was released; names found before remain. */
static bool dso_has_left(const struct dso *dso)
{
	return dso->kind == DSO_FILE && !dso->file;
}

static uint64_t dso_hash_file(const struct file *file)
{
	return hash_add(0, (uintptr_t)file);
}

/* Returns the hash of a dso by dev and ino, for dsos whose file was released. */
static uint64_t dso_hash_version(const struct stat *version)
{
	return hash_add(hash_add(0, version->st_dev), version->st_ino);
}

static void dso_free_tables(struct dso *dso)
{
	srclines_free(dso->lines);
	elfsyms_free(dso->syms);
	dso->lines = NULL;
	dso->syms = NULL;
	if (dso->jit)
		jitmap_drop(dso->jit);
	lru_use(&dso->cache->tables, &dso->tables, 0);
}

/* Evicts symbol tables to free memory; they can be read again. */
static void dso_drop_tables(struct dso *dso)
{
	dso_free_tables(dso);
	dso->was_dropped = true;
	dso->cache->n_dropped++;
}

/* ---- aging ---- */

void dso_hold(struct dso *dso)
{
	if (dso)
		dso->n_users++;
}

void dso_release(struct dso *dso)
{
	if (dso)
		dso->n_users--;
}

bool dso_is_leaving(const struct dso *dso)
{
	return dso && dso->is_leaving;
}

/* Counts dsos, except those with a released file: they are small and freed with their last user. */
static size_t count_dsos(const struct dso_cache *cache)
{
	return cache->dsos.count - cache->n_fileless;
}

bool dso_cache_is_full(const struct dso_cache *cache)
{
	return cache_is_full(&cache->age, count_dsos(cache), MANY_DSOS) ||
	       known_names_are_many(&cache->names);
}

static void free_unused(struct dso_cache *cache, struct dso *dso)
{
	lru_use(&cache->tables, &dso->tables, 0);
	cache->n_fileless -= dso_has_left(dso);
	hashtable_remove(&cache->dsos, &dso->link);
	dso_free(dso);
}

/* Ages a dso: frees it, lists it for releasing its file, or does nothing. */
static void age_dso(struct dso_cache *cache, struct dso *dso)
{
	if (dso->file && dso->file->n_users)
		dso->used = cache->age.epoch;
	else if (cache_lets_go(&cache->age, dso->used)) {
		if (!dso->n_users) {
			free_unused(cache, dso);
			return;
		}
		dso->is_leaving = dso->file && dso->file->fd >= 0;
	}
	if (!dso->is_leaving) {
		roots_keep(cache->roots, dso->debug.root_fd);
		return;
	}
	dso->next_leaving = cache->leaving;
	cache->leaving = dso;
}

static void leave_file(struct dso_cache *cache, struct dso *dso)
{
	dso_free_tables(dso);
	dso->debug.root_fd = -1;
	dso->is_leaving = false;
	dso->place.name = dso->name = mem_strdup(dso->file->name);
	dso->version = dso->file->st;
	dso->file->parts[FILE_SYMBOLS] = (struct file_part){};
	dso->file = NULL;
	hashtable_remove(&cache->dsos, &dso->link);
	hashtable_add(&cache->dsos, &dso->link, dso_hash_version(&dso->version));
	cache->n_fileless++;
}

static void age_names(struct dso_cache *cache)
{
	known_names_begin_age(&cache->names, cache->age.epoch);
	for_each_element(struct dso, dso, next, link, &cache->dsos)
		known_names_age(&cache->names, &dso->known);
	known_names_end_age(&cache->names);
}

void dso_cache_age(struct dso_cache *cache, uint32_t epoch, void (*find_names)(void *arg),
		   void *arg)
{
	cache_begin_age(&cache->age, epoch,
			cache_is_full(&cache->age, count_dsos(cache), MANY_DSOS));
	for_each_element(struct dso, dso, next, link, &cache->dsos)
		age_dso(cache, dso);
	if (cache->leaving)
		find_names(arg);
	for (struct dso *dso; (dso = cache->leaving);) {
		cache->leaving = dso->next_leaving;
		leave_file(cache, dso);
	}
	roots_release(cache->roots);
	cache_end_age(&cache->age, count_dsos(cache));
	age_names(cache);
}

/* ---- files ---- */

/* Moves the search for debug files to this process's root, if the former process is gone. */
static void place_again(struct dso_cache *cache, struct dso *dso, pid_t pid, const char *path)
{
	if (!dso->debug.gone_pid || dso->debug.gone_pid == pid ||
	    !debug_place_find(&dso->debug, cache->roots, pid, path))
		return;
	if (dso->syms)
		dso_drop_tables(dso);
	known_names_free_offsets(&cache->names, &dso->known);
	dso->place.path = dso->debug.path;
}

/* Finds the dso of a file that was released and is mapped again. */
static struct dso *find_left(const struct dso_cache *cache, const struct file *file)
{
	for_each_linked(struct dso, dso, link, &cache->dsos, dso_hash_version(&file->st))
		if (dso_has_left(dso) && file_is_same_version(&dso->version, &file->st))
			return dso;
	return NULL;
}

static struct dso *come_back(struct dso_cache *cache, const struct file *file)
{
	struct dso *dso = find_left(cache, file);

	if (!dso)
		return dso_new(cache, DSO_FILE, dso_hash_file(file));
	hashtable_remove(&cache->dsos, &dso->link);
	hashtable_add(&cache->dsos, &dso->link, dso_hash_file(file));
	cache->n_fileless--;
	free(dso->name);
	dso->name = NULL;
	return dso;
}

static struct dso *dso_of_file(struct dso_cache *cache, struct file *file, pid_t pid,
			       const char *path)
{
	struct file_part *part = &file->parts[FILE_SYMBOLS];
	struct dso *dso = part->data;

	if (dso) {
		place_again(cache, dso, pid, path);
		return dso;
	}
	part->data = dso = come_back(cache, file);
	dso->file = file;
	if (file->fd >= 0)
		debug_place_find(&dso->debug, cache->roots, pid, path);
	dso->place.name = file->name;
	dso->place.path = dso->debug.path;
	return dso;
}

/* ---- memory ---- */

static struct dso *find_memory(const struct dso_cache *cache, enum dso_kind kind, const char *name,
			       const struct stat *st, uint64_t hash)
{
	for_each_linked(struct dso, dso, link, &cache->dsos, hash)
		if (dso->kind == kind && dso->dev == st->st_dev && dso->ino == st->st_ino &&
		    !strcmp(dso->name, name))
			return dso;
	return NULL;
}

static uint64_t hash_memory(const struct stat *st, const char *name)
{
	uint64_t hash = hash_add(hash_add(0, st->st_dev), st->st_ino);

	for (; *name; name++)
		hash = hash_add(hash, (unsigned char)*name);
	return hash;
}

/* Returns the dso of memory. Takes over jit, a perf map with status st (NULL: none), and name. */
static struct dso *get_memory(struct dso_cache *cache, struct jitmap *jit, const struct stat *st,
			      char *name)
{
	enum dso_kind kind = jit ? DSO_JIT : DSO_MEMORY;
	uint64_t hash = hash_memory(st, name);
	struct dso *dso = find_memory(cache, kind, name, st, hash);

	if (dso) {
		jitmap_free(jit);
		free(name);
		return dso;
	}
	dso = dso_new(cache, kind, hash);
	dso->dev = st->st_dev;
	dso->ino = st->st_ino;
	dso->jit = jit;
	dso->name = name;
	return dso;
}

static struct dso *dso_of_memory(struct dso_cache *cache, pid_t pid, const char *path)
{
	static const struct stat nothing;
	struct stat st;
	struct jitmap *jit = jitfile_open(roots_of(cache->roots, pid), pid, &st);

	return get_memory(cache, jit, jit ? &st : &nothing,
			  file_base_name(path[0] == '/' ? "" : path));
}

struct dso *dso_attach(struct dso_cache *cache, pid_t pid, struct maps *maps, struct mapped *m)
{
	struct file *file = mapped_file(maps, m, pid);
	struct dso *dso = file ? dso_of_file(cache, file, pid, m->name->path)
			       : dso_of_memory(cache, pid, m->name->path);

	dso->used = cache->age.epoch;
	return dso;
}

uint64_t dso_offset(const struct dso *dso, const struct mapped *m, uint64_t addr)
{
	return dso->file ? addr - m->start + m->offset : addr;
}

uint64_t dso_address(const struct dso *dso, uint64_t offset)
{
	uint64_t address = dso->file ? elfsegs_vaddr(&dso->file->segs, offset) : UINT64_MAX;

	return address == UINT64_MAX ? 0 : address;
}

/* Returns true if the dso has a file that can be read. */
static bool is_open(const struct dso *dso)
{
	return dso->file && dso->file->fd >= 0 && !dso->is_useless;
}

/* ---- tables ---- */

/*
 * Reports each kind of missing lines once: most systems have debug information for few files or
 * none.
 */
static void open_lines(struct dso *dso)
{
	static const char *const lacks[] = {
		[SRCLINES_NO_DWARF] = "no source lines: no debug information (DWARF)",
		[SRCLINES_NO_ZSTD] = "no source lines: zstd-compressed DWARF (needs libelf 0.189)",
		[SRCLINES_NO_SHARED] =
			"no source lines: the file named by .gnu_debugaltlink is missing",
		[SRCLINES_SPLIT] = "no inlined functions: split DWARF (.dwo, .dwp) is not read",
	};
	static unsigned int said;
	enum srclines_lack lack;

	dso->lines =
		srclines_open(dso->file->fd, &dso->debug, dso->cache->options.as_mangled, &lack);
	if (lack == SRCLINES_ALL || said & 1u << lack)
		return;
	said |= 1u << lack;
	msg_warn("%s: %s (not repeated for other files)", dso_name(dso), lacks[lack]);
}

static void read_build_id(struct dso *dso)
{
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	struct elffile f;

	if (dso->file->image ? elffile_open_image(&f, dso->file->image, dso->file->elf.size)
			     : elffile_open(&f, dso->file->fd))
		return;
	for (size_t i = 0, n = elffile_build_id(&f, id); i < n; i++)
		snprintf(dso->build_id + 2 * i, 3, "%02x", id[i]);
	elffile_close(&f);
}

static void warn_of_change(const struct dso *dso)
{
	static bool said;

	if (said)
		return;
	said = true;
	msg_warn("%s: symbols missing: it, or its debug file, changed while traced", dso_name(dso));
}

/* Marks a file without symbols, or one that changed since it was opened, as useless. */
static void give_file_up(struct dso *dso)
{
	if (dso->was_dropped || !file_is_unchanged(dso->file))
		warn_of_change(dso);
	dso->is_useless = true;
}

/* Evicts the least recently used tables until max_bytes remain, or only the given item. */
static void drop_oldest(struct dso_cache *cache, uint64_t max_bytes, const struct lru_item *kept)
{
	while (cache->tables.bytes > max_bytes && cache->tables.oldest != kept)
		dso_drop_tables(container_of(cache->tables.oldest, struct dso, tables));
}

/* Loads a file's tables. Frees memory first, since their size is unknown until they are read. */
static void load_file(struct dso *dso)
{
	drop_oldest(dso->cache, dso->cache->options.max_bytes / 2, NULL);
	dso->syms = file_syms_read(dso->file, &dso->debug);
	if (!dso->syms)
		give_file_up(dso);
	else if (dso->cache->options.lines)
		open_lines(dso);
}

static void load_symbols(struct dso *dso)
{
	const void *image = dso->file ? dso->file->image : NULL;

	if (dso->syms)
		return;
	if (dso->cache->options.places && !*dso->build_id && (is_open(dso) || image))
		read_build_id(dso);
	if (is_open(dso))
		load_file(dso);
	else if (image)
		dso->syms = elfsyms_load_image(image, dso->file->elf.size);
}

static uint64_t count_bytes(const struct dso *dso)
{
	return (dso->syms ? elfsyms_bytes(dso->syms) : 0) +
	       (dso->lines ? srclines_bytes(dso->lines) : 0) +
	       (dso->jit ? jitmap_bytes(dso->jit) : 0);
}

/* Accounts the tables of the latest dso, which stay regardless of their size, and evicts others. */
static void keep_tables(struct dso *dso)
{
	struct lru *tables = &dso->cache->tables;

	lru_use(tables, &dso->tables, count_bytes(dso));
	drop_oldest(dso->cache, dso->cache->options.max_bytes, tables->newest);
}

void dso_cache_end_report(struct dso_cache *cache)
{
	drop_oldest(cache, cache->options.drops_all ? 0 : cache->options.max_bytes, NULL);
}

struct dso_stats dso_cache_stats(const struct dso_cache *cache)
{
	return (struct dso_stats){ .bytes = cache->tables.bytes, .n_dropped = cache->n_dropped };
}

/* ---- lookups ---- */

static const char *find_name(struct dso *dso, uint64_t vaddr)
{
	return dso->cache->options.as_mangled ? elfsyms_find(dso->syms, vaddr, NULL)
					      : elfsyms_find_readable(dso->syms, vaddr);
}

/* Finds and caches an offset's name and lines; none if a file that they are in has changed. */
static const struct known_name *read_tables(struct dso *dso, uint64_t offset, uint64_t vaddr)
{
	const struct srcframe *frames = NULL;
	struct known_name found = {
		.name = find_name(dso, vaddr),
		.symbol = elfsyms_find(dso->syms, vaddr, NULL),
		.n_frames = dso->lines ? srclines_find(dso->lines, vaddr, &frames) : 0,
	};

	if (is_open(dso) && !(file_is_unchanged(dso->file) && elfsyms_are_current(dso->syms))) {
		warn_of_change(dso);
		found = (struct known_name){ .name = NULL };
	}
	return known_names_add(&dso->cache->names, &dso->known, offset, &found, frames);
}

/* Returns the name at an offset; NULL: no symbols, or no code there. */
static const struct known_name *look_up(struct dso *dso, uint64_t offset)
{
	const struct known_name *known = known_names_find(&dso->cache->names, &dso->known, offset);
	uint64_t vaddr;

	if (known || offset == UINT64_MAX)
		return known;
	load_symbols(dso);
	vaddr = dso->syms ? elfsyms_vaddr(dso->syms, offset) : UINT64_MAX;
	if (vaddr != UINT64_MAX)
		known = read_tables(dso, offset, vaddr);
	keep_tables(dso);
	return known;
}

uint32_t dso_find_made(struct dso *dso, uint64_t addr, uint64_t size)
{
	uint32_t number = dso->jit ? jitmap_find(dso->jit, addr, size) : 0;

	if (dso->jit)
		keep_tables(dso);
	return number;
}

const char *dso_made_name(struct dso *dso, uint32_t number)
{
	const char *name = dso->jit ? jitmap_name(dso->jit, number) : NULL;

	return known_names_keep(&dso->cache->names, name);
}

const char *dso_find(struct dso *dso, uint64_t offset)
{
	const struct known_name *known;

	if (dso->jit)
		return dso_made_name(dso, dso_find_made(dso, offset, 0));
	known = look_up(dso, offset);
	return known ? known->name : NULL;
}

size_t dso_lines(struct dso *dso, uint64_t offset, const struct srcframe **frames)
{
	const struct known_name *known;

	if (!dso->cache->options.lines || dso->jit)
		return 0;
	known = look_up(dso, offset);
	if (!known)
		return 0;
	*frames = known->frames;
	return known->n_frames;
}

const struct image *dso_place(struct dso *dso, uint64_t offset, uint64_t *address,
			      const char **symbol)
{
	const struct known_name *known = dso->jit ? NULL : look_up(dso, offset);

	*address = dso_address(dso, offset);
	*symbol = known ? known->symbol : NULL;
	dso->place = (struct image){
		.name = dso_name(dso),
		.path = dso->debug.path,
		.build_id = *dso->build_id ? dso->build_id : NULL,
	};
	return &dso->place;
}

bool dso_is_jit(const struct dso *dso)
{
	return dso->kind == DSO_JIT;
}

int dso_made_fd(const struct dso *dso)
{
	return dso->jit ? jitmap_fd(dso->jit) : -1;
}

bool dso_is_nameless_memory(const struct dso *dso)
{
	return dso->kind == DSO_MEMORY;
}

const char *dso_name(const struct dso *dso)
{
	return dso->file ? dso->file->name : dso->name;
}

int dso_error(const struct dso *dso)
{
	return dso->file ? dso->file->open_error : 0;
}
