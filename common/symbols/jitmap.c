// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of JIT code; see jitmap.h. A JIT compiler replaces code without notice: lines of the file
 * overlap, and a later line wins over an earlier one. For lookups the lines are cut into pieces
 * that do not overlap. Lines of a growing file are not cut at once but searched one by one, so that
 * not all are cut again for each new one. Only lookups of code that was replaced recently search
 * all lines.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/order.h"
#include "base/search.h"
#include "process/procstate.h"
#include "process/roots.h"
#include "symbols/jitmap.h"

/* ---- jitfile ---- */

#define CLOCK_SLACK_S 2 /* tolerance for adjusted clocks and coarse file times */

/* Returns 0; -EACCES: neither root nor the process's user owns the file; -ENOENT: unknown. */
static int check_owner(const struct stat *file, pid_t pid)
{
	struct stat process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (!file->st_uid)
		return 0;
	if (stat(path, &process))
		return -ENOENT; /* the process's owner is unknown */
	return file->st_uid == process.st_uid ? 0 : -EACCES;
}

/* Returns 0; -ESTALE: left by an earlier process of that pid, as in a restarted container. */
static int check_age(const struct stat *file, pid_t pid)
{
	uint64_t start_ns = process_start_unix_ns(pid);
	uint64_t written_s = (uint64_t)file->st_mtim.tv_sec + CLOCK_SLACK_S;

	return written_s < start_ns / NS_PER_S ? -ESTALE : 0;
}

static struct jitmap *open_map(int root_fd, pid_t pid, struct stat *st)
{
	char path[40];
	int fd, err;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", thread_inner_id(pid, pid) ?: pid);
	fd = root_open_file(root_fd, path);
	if (fd == -ENOENT && root_has_name(root_fd, path))
		fd = -EACCES; /* a link that leads out of the root, or nowhere */
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	err = fstat(fd, st) ? -errno : check_owner(st, pid);
	if (!err)
		err = check_age(st, pid);
	if (!err)
		return jitmap_from(fd);
	close(fd);
	errno = -err;
	return NULL;
}

static void warn_of_map(pid_t pid, int err)
{
	static bool said;

	if (said || err == ENOENT)
		return;
	said = true;
	if (err == ESTALE)
		msg_warn("process %d: perf map ignored: older than the process (JIT frames stay "
			 "unnamed)",
			 pid);
	else
		msg_warn("process %d: perf map ignored: not a regular file owned by its user or by "
			 "root "
			 "(%s; JIT frames stay unnamed)",
			 pid, strerror(err));
}

struct jitmap *jitfile_open(int root_fd, pid_t pid, struct stat *st)
{
	struct jitmap *map = open_map(root_fd, pid, st);

	if (!map)
		warn_of_map(pid, errno);
	return map;
}

/* ---- jitmap ---- */

#define MAX_MAP_BYTES (64ULL << 20)
#define READ_BYTES    (1U << 20)
#define NO_ENTRY      UINT32_MAX
#define MAX_ENTRIES   (1U << 24)
#define MALLOC_BYTES  16 /* malloc's overhead per name */
#define MARK_BYTES    64

/* Maximum number of uncut entries, with n cut ones. */
#define FEW_UNCUT(n) ((n) / 64)

struct entry {
	uint64_t start, end;
	uint32_t number;    /* index of the line in the file; names[number] is its name */
	uint32_t file_size; /* size of the file, in bytes, up to the end of this line */
};

/* A piece: this entry describes the code from start to the next piece. */
struct piece {
	uint64_t start;
	uint32_t entry; /* index of the entry; NO_ENTRY: no code */
};

struct jitmap {
	int fd;
	uint64_t taken;	       /* bytes of the whole lines read so far */
	uint64_t seen;	       /* file size at the last read */
	char mark[MARK_BYTES]; /* last bytes read, to recognize a rewritten file */
	size_t mark_bytes;     /* number of bytes in mark */
	/* file offset of mark's end, retained by jitmap_drop() */
	uint64_t mark_end;
	uint32_t mark_count; /* number of lines up to mark_end, retained likewise */
	char **names;	     /* names by line number; NULL: code without a name */
	size_t names_capacity, names_bytes;
	uint32_t first; /* offset of line numbers, so that a rewritten file does not reuse any */
	struct entry *entries;
	size_t count, capacity;
	size_t n_cut; /* number of entries that are sorted and cut into pieces */
	struct piece *pieces;
	size_t n_pieces, pieces_capacity;
};

/* ---- the file ---- */

struct jitmap *jitmap_from(int fd)
{
	struct jitmap *map = mem_zalloc(1, sizeof(*map));

	map->fd = fd;
	return map;
}

int jitmap_fd(const struct jitmap *map)
{
	return map->fd;
}

static void drop_entries(struct jitmap *map)
{
	for (size_t i = 0; i < map->count; i++)
		free(map->names[i]);
	map->count = map->n_cut = map->n_pieces = 0;
	map->taken = map->seen = 0;
	map->names_bytes = 0;
}

void jitmap_drop(struct jitmap *map)
{
	drop_entries(map);
	free(map->names);
	free(map->entries);
	free(map->pieces);
	map->names = NULL;
	map->entries = NULL;
	map->pieces = NULL;
	map->count = map->names_capacity = map->capacity = map->pieces_capacity = 0;
}

size_t jitmap_bytes(const struct jitmap *map)
{
	return map->capacity * sizeof(*map->entries) + map->names_bytes +
	       map->names_capacity * sizeof(*map->names) +
	       map->pieces_capacity * sizeof(*map->pieces);
}

void jitmap_free(struct jitmap *map)
{
	if (!map)
		return;
	jitmap_drop(map);
	close(map->fd);
	free(map);
}

static bool take_hex(const char **text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(*text, &end, 16); /* takes 0x, too */
	if (end == *text || errno || *end != ' ')
		return false;
	*text = end + 1;
	return true;
}

/* Adds a line, even without a name: its code replaces earlier code. */
static void add_line(struct jitmap *map, const char *line, uint64_t file_size)
{
	struct entry entry = { .number = (uint32_t)map->count, .file_size = (uint32_t)file_size };
	uint64_t size;

	if (!take_hex(&line, &entry.start) || !take_hex(&line, &size) || !size ||
	    __builtin_add_overflow(entry.start, size, &entry.end) || map->count == MAX_ENTRIES)
		return;
	map->entries = mem_grow(map->entries, map->count, &map->capacity, sizeof(*map->entries));
	map->names = mem_grow(map->names, map->count, &map->names_capacity, sizeof(*map->names));
	map->entries[map->count] = entry;
	map->names[map->count++] = *line ? mem_strdup(line) : NULL;
	map->names_bytes += *line ? strlen(line) + 1 + MALLOC_BYTES : 0;
}

/* Adds the complete lines of a block; returns the number of bytes. */
static size_t add_lines(struct jitmap *map, char *block, size_t bytes)
{
	char *line = block, *end;

	while ((end = memchr(line, '\n', bytes - (size_t)(line - block)))) {
		*end = '\0';
		add_line(map, line, map->taken + (uint64_t)(end + 1 - block));
		line = end + 1;
	}
	return (size_t)(line - block);
}

/* Reads new lines. An incomplete line is left for later; one that fills a block is skipped. */
static void read_lines(struct jitmap *map, uint64_t size)
{
	char *block = mem_zalloc(1, READ_BYTES);
	size_t used = 1;
	ssize_t n = 1;

	while (map->taken < size && used && n > 0) {
		n = pread(map->fd, block, READ_BYTES, (off_t)map->taken);
		used = n > 0 ? add_lines(map, block, (size_t)n) : 0;
		map->taken += !used && n == READ_BYTES ? READ_BYTES : used;
		used = used || n == READ_BYTES;
	}
	free(block);
}

/* ---- pieces ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* A heap of the entries that cover the current address; the latest one is at the top. */
struct cover {
	const struct entry *entries;
	uint32_t *items;
	size_t n;
};

static bool is_later(const struct cover *c, size_t a, size_t b)
{
	return c->entries[c->items[a]].number > c->entries[c->items[b]].number;
}

static void swap_items(struct cover *c, size_t a, size_t b)
{
	uint32_t item = c->items[a];

	c->items[a] = c->items[b];
	c->items[b] = item;
}

static void cover_push(struct cover *c, uint32_t entry)
{
	size_t i = c->n++;

	c->items[i] = entry;
	for (; i && is_later(c, i, (i - 1) / 2); i = (i - 1) / 2)
		swap_items(c, i, (i - 1) / 2);
}

static void cover_pop(struct cover *c)
{
	size_t i = 0, child;

	c->items[0] = c->items[--c->n];
	while ((child = 2 * i + 1) < c->n) {
		child += child + 1 < c->n && is_later(c, child + 1, child);
		if (!is_later(c, child, i))
			return;
		swap_items(c, i, child);
		i = child;
	}
}

static void add_piece(struct jitmap *map, uint64_t start, const struct cover *c)
{
	struct piece piece = { start, c->n ? c->items[0] : NO_ENTRY };

	if (map->n_pieces && map->pieces[map->n_pieces - 1].start == start) {
		map->pieces[map->n_pieces - 1] = piece;
		return;
	}
	*MEM_APPEND(map->pieces, map->n_pieces, map->pieces_capacity) = piece;
}

/* Removes the entries that end at or before addr. */
static void cover_advance(struct jitmap *map, struct cover *c, uint64_t addr)
{
	while (c->n && c->entries[c->items[0]].end <= addr) {
		uint64_t end = c->entries[c->items[0]].end;

		while (c->n && c->entries[c->items[0]].end <= end)
			cover_pop(c);
		add_piece(map, end, c);
	}
}

static void cut_pieces(struct jitmap *map)
{
	struct cover c = { map->entries, mem_zalloc(map->count, sizeof(*c.items)), 0 };

	SORT(map->entries, map->count, compare_entries);
	map->n_pieces = 0;
	for (size_t i = 0; i < map->count; i++) {
		cover_advance(map, &c, map->entries[i].start);
		cover_push(&c, (uint32_t)i);
		add_piece(map, map->entries[i].start, &c);
	}
	cover_advance(map, &c, UINT64_MAX);
	free(c.items);
	map->n_cut = map->count;
}

/* ---- lookups ---- */

static void keep_mark(struct jitmap *map)
{
	size_t bytes = map->taken < MARK_BYTES ? (size_t)map->taken : MARK_BYTES;
	ssize_t n = pread(map->fd, map->mark, bytes, (off_t)(map->taken - bytes));

	map->mark_bytes = n == (ssize_t)bytes ? bytes : 0;
	map->mark_end = map->taken;
	map->mark_count = (uint32_t)map->count;
}

/* Returns true if the file still contains the last bytes read. */
static bool is_same_file(const struct jitmap *map)
{
	char now[MARK_BYTES];
	off_t at = (off_t)(map->mark_end - map->mark_bytes);

	return pread(map->fd, now, map->mark_bytes, at) == (ssize_t)map->mark_bytes &&
	       !memcmp(now, map->mark, map->mark_bytes);
}

static void warn_of_size(const struct jitmap *map)
{
	char link[32], path[256];
	static bool said;
	ssize_t n;

	if (said)
		return;
	said = true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", map->fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	msg_warn("%s: perf map ignored: larger than %llu MiB (JIT frames stay unnamed)", path,
		 MAX_MAP_BYTES >> 20);
}

/* Drops all names if the file is too large: a part of it would give replaced code old names. */
static bool give_up(struct jitmap *map, uint64_t size)
{
	if (size <= MAX_MAP_BYTES)
		return false;
	warn_of_size(map);
	jitmap_drop(map);
	return true;
}

/* Reads what was added to the file; reads everything again if the file was rewritten. */
static void refresh(struct jitmap *map)
{
	struct stat st;
	uint64_t size;

	if (fstat(map->fd, &st))
		return;
	size = (uint64_t)st.st_size;
	if (size == map->seen || give_up(map, size))
		return;
	if (size < map->mark_end || !is_same_file(map)) {
		map->first += map->mark_count;
		drop_entries(map);
	}
	map->seen = size;
	if (size > map->taken)
		read_lines(map, size);
	keep_mark(map);
	if (map->count - map->n_cut > FEW_UNCUT(map->n_cut))
		cut_pieces(map);
}

static bool covers(const struct entry *entry, uint64_t addr)
{
	return addr >= entry->start && addr < entry->end;
}

/* Returns the latest uncut entry at the address; NULL: none. */
static const struct entry *find_uncut(const struct jitmap *map, uint64_t addr)
{
	for (size_t i = map->count; i-- > map->n_cut;)
		if (covers(&map->entries[i], addr))
			return &map->entries[i];
	return NULL;
}

/* Returns the latest entry at the address. NULL: none. */
static const struct entry *find_entry(const struct jitmap *map, uint64_t addr)
{
	const struct entry *uncut = find_uncut(map, addr);
	size_t rank;

	if (uncut || !map->entries)
		return uncut;
	rank = SEARCH_RANK(map->pieces, map->n_pieces, start, addr);
	if (!rank || map->pieces[rank - 1].entry == NO_ENTRY)
		return NULL;
	return &map->entries[map->pieces[rank - 1].entry];
}

/* Returns the latest entry at the address when the file had that size; NULL: none. */
static const struct entry *find_then(const struct jitmap *map, uint64_t addr, uint64_t size)
{
	const struct entry *found = NULL;

	for (size_t i = 0; i < map->count; i++)
		if (covers(&map->entries[i], addr) && map->entries[i].file_size <= size &&
		    (!found || map->entries[i].number > found->number))
			found = &map->entries[i];
	return found;
}

static bool has_name(const struct jitmap *map, const struct entry *entry, const char *name)
{
	const char *own = map->names[entry->number];

	return own && name && !strcmp(own, name);
}

/* Returns true if all code that was ever at the address has that name. */
static bool is_only_name(const struct jitmap *map, uint64_t addr, const char *name)
{
	for (size_t i = 0; i < map->count; i++)
		if (covers(&map->entries[i], addr) && !has_name(map, &map->entries[i], name))
			return false;
	return true;
}

uint32_t jitmap_find(struct jitmap *map, uint64_t addr, uint64_t size)
{
	const struct entry *entry;

	refresh(map);
	entry = find_entry(map, addr);
	if (entry && size && entry->file_size > size)
		entry = find_then(map, addr, size);
	if (entry && !size && !is_only_name(map, addr, map->names[entry->number]))
		return 0;
	return entry ? map->first + entry->number + 1 : 0;
}

const char *jitmap_name(struct jitmap *map, uint32_t number)
{
	uint32_t index;

	refresh(map);
	index = number - map->first - 1;
	return index < map->count ? map->names[index] : NULL;
}
