// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cache of mapped files. Device and inode alone do not name a file for long: inode numbers are
 * used again as soon as a file is gone, and files are overwritten in place. So the key includes
 * size, mtime and ctime, and a file that was met before is looked at again, though not read again,
 * for each process that maps it.
 *
 * Tables of symbols are large, and few of their names are wanted. So what was found is kept by
 * itself, and the tables that were not used for longest are dropped when all together take too
 * much. Their files stay open, to be read again.
 *
 * Symbols of files whose addresses were seen are loaded ahead, in the background: of a dso that
 * thread only touches what struct ahead is for, and reads what stays as it is.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/background.h"
#include "symbols/debugfile.h"
#include "symbols/dso.h"
#include "elf/elffile.h"
#include "symbols/elfsyms.h"
#include "base/idmap.h"
#include "symbols/jitmap.h"
#include "base/lru.h"
#include "process/mapfile.h"
#include "base/mem.h"
#include "base/msg.h"
#include "process/roots.h"
#include "base/strpool.h"

#define DSO_BUCKETS    1024
#define VDSO_MAX_BYTES (64u << 10)

enum dso_kind {
	DSO_FILE,
	DSO_VDSO,
	DSO_MEMORY, /* anonymous, or special and without symbols */
	DSO_JIT,    /* anonymous, of a process with a perf map: dev and ino are that file's */
};

/* All zero: the file could not be opened. */
struct file_version {
	uint64_t bytes;
	struct timespec mtime, ctime;
};

/* What a file says of an offset, in strings of the cache. */
struct known {
	const char *name;   /* NULL: no function is there */
	const char *symbol; /* the same as the linker calls it */
	uint64_t vaddr;
	size_t n_frames;
	struct srcframe frames[];
};

/* Symbols that the background has loaded. */
struct ahead {
	struct chore chore;
	struct elfsyms *syms; /* NULL: there are none */
	uint64_t bytes;
	bool is_tried;
	bool is_expected; /* the chore was added; the background never looks */
};

struct dso {
	struct dso *next;
	struct dso_cache *cache;
	enum dso_kind kind;
	char *name;
	dev_t dev;
	ino_t ino;
	struct file_version version;
	int fd;	     /* -1: none, or of no use */
	char *path;  /* NULL: not known. Debug files may be near, in ... */
	int root_fd; /* ... the root of the process, which is the cache's */
	int own_root_fd;
	void *image; /* of the vdso */
	size_t image_bytes;
	struct elfsyms *syms; /* these three can be dropped at any time */
	struct srclines *lines;
	struct jitmap *jit;
	struct image place; /* for dso_place() */
	char build_id[2 * ELFFILE_BUILD_ID_MAX + 1];
	struct lru_item tables;
	struct ahead ahead;
	bool was_dropped;
	struct idmap known; /* by offset + 1: an id is never 0 */
};

struct dso_cache {
	struct dso_options options;
	struct dso *buckets[DSO_BUCKETS];
	struct roots *roots;
	struct lru tables;
	uint64_t ahead_bytes; /* of symbols loaded ahead and not taken over yet; atomic */
	uint64_t n_dropped;
	struct strpool *strings;
	bool warned;
};

struct dso_cache *dso_cache_new(const struct dso_options *options)
{
	struct dso_cache *cache = mem_zalloc(1, sizeof(*cache));

	cache->options = *options;
	cache->roots = roots_new();
	cache->strings = strpool_new();
	return cache;
}

static void free_dso(struct dso *dso)
{
	srclines_free(dso->lines);
	if (dso->fd >= 0)
		close(dso->fd);
	elfsyms_free(dso->syms);
	elfsyms_free(dso->ahead.syms);
	jitmap_free(dso->jit);
	idmap_free(&dso->known, free);
	free(dso->image);
	free(dso->path);
	free(dso->name);
	free(dso);
}

void dso_cache_free(struct dso_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < DSO_BUCKETS; i++)
		for (struct dso *dso = cache->buckets[i], *next; dso; dso = next) {
			next = dso->next;
			free_dso(dso);
		}
	strpool_free(cache->strings);
	roots_free(cache->roots);
	free(cache);
}

/* The length without the kernel's mark: "/usr/lib/libfoo.so (deleted)" was libfoo.so. */
static size_t path_length(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(path), m = strlen(deleted);

	return path[0] == '/' && n > m && !strcmp(path + n - m, deleted) ? n - m : n;
}

static char *base_name(const char *path)
{
	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;
	const char *base = slash ? slash + 1 : path;

	if (!*base)
		return mem_strdup("[anon]");
	return mem_strndup(base, path_length(path) - (size_t)(base - path));
}

static struct dso **find_bucket(struct dso_cache *cache, const struct dso *key)
{
	uint64_t hash = key->kind + key->ino * 31 + key->dev;

	for (const char *s = key->name; *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001b3ull;
	return &cache->buckets[hash % DSO_BUCKETS];
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same_version(const struct file_version *a, const struct file_version *b)
{
	return a->bytes == b->bytes && is_same_time(&a->mtime, &b->mtime) &&
	       is_same_time(&a->ctime, &b->ctime);
}

static bool is_same_dso(const struct dso *a, const struct dso *b)
{
	return a->kind == b->kind && a->dev == b->dev && a->ino == b->ino &&
	       a->image_bytes == b->image_bytes &&
	       (!a->image_bytes || !memcmp(a->image, b->image, a->image_bytes)) &&
	       is_same_version(&a->version, &b->version) && !strcmp(a->name, b->name);
}

static struct dso *find_dso(struct dso_cache *cache, const struct dso *key)
{
	for (struct dso *dso = *find_bucket(cache, key); dso; dso = dso->next)
		if (is_same_dso(dso, key))
			return dso;
	return NULL;
}

/* Keeps the dso that was built as a key, or frees it where there is an equal one. */
static struct dso *intern_dso(struct dso_cache *cache, struct dso *key)
{
	struct dso *dso = find_dso(cache, key), **bucket = find_bucket(cache, key);

	if (dso) {
		free_dso(key);
		return dso;
	}
	key->next = *bucket;
	return *bucket = key;
}

static struct file_version version_of(const struct stat *st)
{
	return (struct file_version){
		.bytes = st->st_size,
		.mtime = st->st_mtim,
		.ctime = st->st_ctim,
	};
}

static void warn_of_limit(struct dso_cache *cache, int err)
{
	if ((err != -EMFILE && err != -ENFILE) || cache->warned)
		return;
	cache->warned = true;
	msg_warn("too many open files: some functions have no names");
}

static void keep_place(struct dso_cache *cache, struct dso *key, pid_t pid, const struct mapping *m)
{
	key->root_fd = roots_of(cache->roots, pid);
	key->own_root_fd = roots_own(cache->roots);
	if (m->path[0] == '/')
		key->path = root_path(pid, m->path, path_length(m->path));
}

/*
 * A file open already is not opened again. Its version is left at zero where it cannot be opened:
 * such a dso never stands in for one that could.
 */
static void open_file(struct dso_cache *cache, struct dso *key, pid_t pid, const struct mapping *m,
		      const struct timespec *read_time)
{
	struct stat st;
	int path_fd = mapfile_open(pid, m, read_time, &st);

	if (path_fd < 0) {
		warn_of_limit(cache, path_fd);
		return;
	}
	key->version = version_of(&st);
	if (!find_dso(cache, key)) {
		key->fd = root_reopen(path_fd);
		warn_of_limit(cache, key->fd);
		if (key->fd < 0)
			key->version = (struct file_version){ 0 };
		else
			keep_place(cache, key, pid, m);
	}
	close(path_fd);
}

static void read_vdso(struct dso *key, pid_t pid, const struct mapping *m)
{
	size_t bytes = m->end - m->start;
	void *image;

	if (bytes > VDSO_MAX_BYTES)
		return;
	image = mem_zalloc(1, bytes);
	if (mapfile_read_vdso(pid, m, image)) {
		free(image);
		return;
	}
	key->image = image;
	key->image_bytes = bytes;
}

/*
 * Files that are memory by another name: shared anonymous memory, System V shared memory, huge
 * pages, and what .NET puts its code into so that it need not be writable where it is executed.
 */
static bool is_memory_file(const char *path)
{
	static const char *const beginnings[] = { "/dev/zero", "/SYSV", "/anon_hugepage",
						  "/memfd:doublemapper" };

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(path, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

static enum dso_kind kind_of(const struct mapping *m)
{
	if (m->ino && !is_memory_file(m->path))
		return DSO_FILE;
	return strcmp(m->path, "[vdso]") ? DSO_MEMORY : DSO_VDSO;
}

static void warn_of_jitmap(pid_t pid, int err)
{
	static bool said;

	if (said || err == ENOENT)
		return;
	said = true;
	msg_warn("no names of the code that process %d has made, nor maybe others: its perf map is "
		 "no regular file of its user or of root, in its own root folder (%s)",
		 pid, strerror(err));
}

static void open_jitmap(struct dso_cache *cache, struct dso *key, pid_t pid)
{
	struct stat st;

	key->jit = jitmap_open(roots_of(cache->roots, pid), pid, &st);
	if (!key->jit) {
		warn_of_jitmap(pid, errno);
		return;
	}
	key->kind = DSO_JIT;
	key->dev = st.st_dev;
	key->ino = st.st_ino;
}

struct dso *dso_attach(struct dso_cache *cache, pid_t pid, const struct mapping *m,
		       const struct timespec *read_time)
{
	struct dso *key = mem_zalloc(1, sizeof(*key));

	key->cache = cache;
	key->kind = kind_of(m);
	key->name = base_name(m->path);
	key->fd = -1;
	if (key->kind == DSO_FILE) {
		key->dev = m->dev;
		key->ino = m->ino;
		open_file(cache, key, pid, m, read_time);
	} else if (key->kind == DSO_VDSO) {
		read_vdso(key, pid, m);
	} else {
		open_jitmap(cache, key, pid);
	}
	return intern_dso(cache, key);
}

uint64_t dso_offset(const struct dso *dso, const struct mapping *m, uint64_t addr)
{
	return dso->kind == DSO_MEMORY || dso->kind == DSO_JIT ? addr : addr - m->start + m->offset;
}

/*
 * A file overwritten since it was first met no longer says what its functions were called then.
 * ctime does not matter here: it also changes when the file loses a name.
 */
static bool is_unchanged(const struct dso *dso)
{
	struct stat st;

	return !fstat(dso->fd, &st) && (uint64_t)st.st_size == dso->version.bytes &&
	       is_same_time(&st.st_mtim, &dso->version.mtime);
}

/* ---- tables ---- */

/* Said once: most systems have debug information for few files or none. */
static void open_lines(struct dso *dso, const struct debug_place *place)
{
	static bool said;

	dso->lines = srclines_open(dso->fd, place, dso->cache->options.as_mangled);
	if (dso->lines || said)
		return;
	said = true;
	msg_warn("no source lines for %s, nor maybe for others: no debug information (DWARF)",
		 dso->name);
}

static void take_build_id(struct dso *dso, const struct elffile *f)
{
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	size_t n = elffile_build_id(f, id);

	for (size_t i = 0; i < n; i++)
		snprintf(dso->build_id + 2 * i, 3, "%02x", id[i]);
}

static void read_build_id(struct dso *dso)
{
	struct elffile f;

	if (dso->fd >= 0 ? elffile_open(&f, dso->fd)
			 : elffile_open_image(&f, dso->image, dso->image_bytes))
		return;
	take_build_id(dso, &f);
	elffile_close(&f);
}

static void warn_of_change(const struct dso *dso)
{
	static bool said;

	if (said)
		return;
	said = true;
	msg_warn("no more names of %s, nor maybe of others: it has changed since its symbols were "
		 "dropped (--symbols-mem)",
		 dso->name);
}

/* A file that has no symbols, or not those of the time when it was met, is not read again. */
static void give_file_up(struct dso *dso)
{
	if (dso->was_dropped)
		warn_of_change(dso);
	close(dso->fd);
	dso->fd = -1;
}

static struct debug_place place_of(const struct dso *dso)
{
	return (struct debug_place){
		.root_fd = dso->root_fd,
		.own_root_fd = dso->own_root_fd,
		.path = dso->path,
	};
}

/* NULL: there are none, or the file has changed. */
static struct elfsyms *read_symbols(const struct dso *dso)
{
	struct debug_place place = place_of(dso);
	struct elfsyms *syms = is_unchanged(dso) ? elfsyms_load(dso->fd, &place) : NULL;

	if (!syms || is_unchanged(dso))
		return syms;
	elfsyms_free(syms);
	return NULL;
}

static struct dso *dso_of_chore(struct chore *chore)
{
	return (struct dso *)((char *)chore - offsetof(struct dso, ahead.chore));
}

/* In the background. Those that had no room are read when they are asked for. */
static void load_ahead(struct chore *chore)
{
	struct dso *dso = dso_of_chore(chore);
	uint64_t *sum = &dso->cache->ahead_bytes, max_bytes = dso->cache->options.max_bytes;

	if (max_bytes && __atomic_load_n(sum, __ATOMIC_RELAXED) >= max_bytes)
		return;
	dso->ahead.syms = read_symbols(dso);
	dso->ahead.bytes = dso->ahead.syms ? elfsyms_bytes(dso->ahead.syms) : 0;
	dso->ahead.is_tried = true;
	__atomic_fetch_add(sum, dso->ahead.bytes, __ATOMIC_RELAXED);
}

void dso_expect(struct dso *dso)
{
	struct background *background = dso->cache->options.background;

	if (background && dso->fd >= 0 && !dso->syms && !dso->was_dropped &&
	    !dso->ahead.is_expected) {
		dso->ahead.is_expected = true;
		background_add(background, &dso->ahead.chore, load_ahead);
	}
}

/* What was loaded ahead, if it was. */
static bool take_ahead(struct dso *dso)
{
	struct ahead *ahead = &dso->ahead;

	if (ahead->is_expected)
		background_finish(dso->cache->options.background, &ahead->chore);
	if (!ahead->is_tried)
		return false;
	dso->syms = ahead->syms;
	__atomic_fetch_sub(&dso->cache->ahead_bytes, ahead->bytes, __ATOMIC_RELAXED);
	ahead->syms = NULL;
	ahead->is_tried = false;
	return true;
}

static void load_file(struct dso *dso)
{
	struct debug_place place = place_of(dso);

	if (!take_ahead(dso))
		dso->syms = read_symbols(dso);
	if (!dso->syms)
		give_file_up(dso);
	else if (dso->cache->options.lines)
		open_lines(dso, &place);
}

/* The image stays, as the key of its dso. */
static void load_symbols(struct dso *dso)
{
	if (dso->syms)
		return;
	if (dso->cache->options.places && !*dso->build_id && (dso->fd >= 0 || dso->image))
		read_build_id(dso);
	if (dso->fd >= 0)
		load_file(dso);
	else if (dso->image)
		dso->syms = elfsyms_load_image(dso->image, dso->image_bytes);
}

static uint64_t count_bytes(const struct dso *dso)
{
	return (dso->syms ? elfsyms_bytes(dso->syms) : 0) +
	       (dso->lines ? srclines_bytes(dso->lines) : 0) +
	       (dso->jit ? jitmap_bytes(dso->jit) : 0);
}

static struct dso *dso_of_tables(struct lru_item *tables)
{
	return (struct dso *)((char *)tables - offsetof(struct dso, tables));
}

static void drop_tables(struct dso *dso)
{
	srclines_free(dso->lines);
	elfsyms_free(dso->syms);
	dso->lines = NULL;
	dso->syms = NULL;
	if (dso->jit)
		jitmap_drop(dso->jit);
	dso->was_dropped = true;
	dso->cache->n_dropped++;
	lru_use(&dso->cache->tables, &dso->tables, 0);
}

static uint64_t sum_bytes(const struct dso_cache *cache)
{
	return cache->tables.bytes + __atomic_load_n(&cache->ahead_bytes, __ATOMIC_RELAXED);
}

/* Those of the latest dso always stay, however large. */
static void keep_tables(struct dso *dso)
{
	struct dso_cache *cache = dso->cache;
	uint64_t max_bytes = cache->options.max_bytes;

	lru_use(&cache->tables, &dso->tables, count_bytes(dso));
	while (max_bytes && sum_bytes(cache) > max_bytes &&
	       cache->tables.oldest != cache->tables.newest)
		drop_tables(dso_of_tables(cache->tables.oldest));
}

struct dso_stats dso_cache_stats(const struct dso_cache *cache)
{
	return (struct dso_stats){ .bytes = sum_bytes(cache), .n_dropped = cache->n_dropped };
}

/* ---- lookups ---- */

static const char *intern(struct dso *dso, const char *string)
{
	return string ? strpool_intern(dso->cache->strings, string) : NULL;
}

static const char *find_name(struct dso *dso, uint64_t vaddr)
{
	return dso->cache->options.as_mangled ? elfsyms_find(dso->syms, vaddr, NULL)
					      : elfsyms_find_readable(dso->syms, vaddr);
}

static struct known *read_tables(struct dso *dso, uint64_t vaddr)
{
	const struct srcframe *frames;
	size_t n = dso->lines ? srclines_find(dso->lines, vaddr, &frames) : 0;
	struct known *known = mem_zalloc(1, sizeof(*known) + n * sizeof(known->frames[0]));

	known->name = intern(dso, find_name(dso, vaddr));
	known->symbol = intern(dso, elfsyms_find(dso->syms, vaddr, NULL));
	known->vaddr = vaddr;
	known->n_frames = n;
	for (size_t i = 0; i < n; i++)
		known->frames[i] = (struct srcframe){
			.function = intern(dso, frames[i].function),
			.file = intern(dso, frames[i].file),
			.line = frames[i].line,
		};
	return known;
}

/* NULL where no symbol can be. */
static const struct known *look_up(struct dso *dso, uint64_t offset)
{
	struct known *known = idmap_find(&dso->known, offset + 1);
	uint64_t vaddr;

	if (known || offset == UINT64_MAX)
		return known;
	load_symbols(dso);
	vaddr = dso->syms ? elfsyms_vaddr(dso->syms, offset) : UINT64_MAX;
	if (vaddr != UINT64_MAX) {
		known = read_tables(dso, vaddr);
		idmap_add(&dso->known, offset + 1, known);
	}
	keep_tables(dso);
	return known;
}

static const char *find_made(struct dso *dso, uint64_t addr)
{
	const char *name = intern(dso, jitmap_find(dso->jit, addr));

	keep_tables(dso);
	return name;
}

const char *dso_find(struct dso *dso, uint64_t offset)
{
	const struct known *known;

	if (dso->jit)
		return find_made(dso, offset);
	known = look_up(dso, offset);
	return known ? known->name : NULL;
}

size_t dso_lines(struct dso *dso, uint64_t offset, const struct srcframe **frames)
{
	bool has_lines = dso->cache->options.lines && !dso->jit;
	const struct known *known = has_lines ? look_up(dso, offset) : NULL;

	if (!known)
		return 0;
	*frames = known->frames;
	return known->n_frames;
}

const struct image *dso_place(struct dso *dso, uint64_t offset, uint64_t *address,
			      const char **symbol)
{
	const struct known *known = dso->jit ? NULL : look_up(dso, offset);

	*address = known ? known->vaddr : 0;
	*symbol = known ? known->symbol : NULL;
	dso->place = (struct image){
		.name = dso->name,
		.path = dso->path,
		.build_id = *dso->build_id ? dso->build_id : NULL,
	};
	return &dso->place;
}

bool dso_is_jit(const struct dso *dso)
{
	return dso->kind == DSO_JIT;
}

bool dso_is_nameless_memory(const struct dso *dso)
{
	return dso->kind == DSO_MEMORY;
}

const char *dso_name(const struct dso *dso)
{
	return dso->name;
}
