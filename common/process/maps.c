// SPDX-License-Identifier: GPL-2.0-only
/* Executable mappings of processes, shared; see maps.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/peek.h"
#include "base/search.h"
#include "process/maps.h"

#define CTIME_NS (10 * NS_PER_MS) /* maximum delay of file change times (ctime) after the clock */

/* ---- names ---- */

void map_store_free(struct map_store *store)
{
	hashtable_free(&store->names, NULL);
	files_free(store->files);
}

static struct mapped_name *find_name(struct map_store *store, const struct mapping *m,
				     uint64_t hash)
{
	for_each_linked(struct mapped_name, name, link, &store->names, hash)
		if (name->ino == m->ino && name->dev == m->dev && !strcmp(name->path, m->path))
			return name;
	return NULL;
}

static uint64_t hash_name(const struct mapping *m)
{
	return hash_add(hash_add(0, m->ino), m->dev);
}

struct mapped_name *mapped_name_get(struct map_store *store, const struct mapping *m)
{
	uint64_t hash = hash_name(m);
	struct mapped_name *name = find_name(store, m, hash);
	size_t bytes = strlen(m->path) + 1;

	if (name)
		return mapped_name_use(name);
	name = mem_zalloc(1, sizeof(*name) + bytes);
	name->dev = m->dev;
	name->ino = m->ino;
	memcpy(name->path, m->path, bytes);
	hashtable_add(&store->names, &name->link, hash);
	return mapped_name_use(name);
}

struct mapped_name *mapped_name_use(struct mapped_name *name)
{
	name->n_users++;
	return name;
}

void mapped_name_release(struct map_store *store, struct mapped_name *name)
{
	if (--name->n_users)
		return;
	hashtable_remove(&store->names, &name->link);
	if (name->file)
		name->file->n_users--;
	free(name);
}

/* ---- building maps ---- */

struct draft {
	struct mapped *items;
	size_t count, capacity;
};

/* Compares two mappings by address; 0: they overlap. */
static int compare_mapped(const struct mapped *a, const struct mapped *b)
{
	if (a->end <= b->start)
		return -1;
	return a->start >= b->end;
}

static void insert_at(struct draft *d, size_t at, struct mapped m)
{
	d->items = mem_grow(d->items, d->count, &d->capacity, sizeof(m));
	memmove(d->items + at + 1, d->items + at, (d->count - at) * sizeof(m));
	d->items[at] = m;
	d->count++;
}

static void remove_at(struct draft *d, size_t at)
{
	d->count--;
	memmove(d->items + at, d->items + at + 1, (d->count - at) * sizeof(*d->items));
}

/* Returns the part of a mapping from start on; another mapping now covers the part before. */
static struct mapped cut_front(const struct mapped *m, uint64_t start)
{
	struct mapped rest = *m;

	rest.offset += start - m->start;
	rest.start = start;
	return rest;
}

/* Inserts a mapping, which replaces those that it overlaps. */
static void put_mapped(struct draft *d, struct mapped m)
{
	size_t at = SEARCH_RANK(d->items, d->count, end, m.start);

	while (at < d->count && !compare_mapped(&d->items[at], &m)) {
		struct mapped *old = &d->items[at];
		bool has_front = old->start < m.start;
		bool has_back = old->end > m.end;

		if (has_back)
			insert_at(d, at + 1, cut_front(old, m.end));
		if (has_front)
			d->items[at++].end = m.start;
		else
			remove_at(d, at);
		if (has_back)
			break;
	}
	insert_at(d, at, m);
}

static bool is_same(const struct mapped *a, const struct mapped *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->name == b->name;
}

/* Returns true if the file is known and was not overwritten in place; else it must be looked up. */
static bool has_file(const struct mapped *m)
{
	return m->file && m->file->st.st_mode && (m->file->fd < 0 || file_is_untouched(m->file));
}

/* Returns the equal mapping in `before` if its file is known; else NULL. */
static const struct mapped *find_same(const struct maps *before, const struct mapped *m)
{
	size_t i = before ? SEARCH_RANK(before->items, before->count, start, m->start) : 0;
	const struct mapped *old = i ? &before->items[i - 1] : NULL;

	return old && is_same(old, m) && has_file(old) ? old : NULL;
}

/* Returns true if no mapping is new, and no file must be looked up again. */
static bool is_all_the_same(const struct maps *before, const struct draft *d)
{
	if (!before || before->count != d->count)
		return false;
	for (size_t i = 0; i < d->count; i++)
		if (!is_same(&before->items[i], &d->items[i]) ||
		    (before->items[i].file && !has_file(&before->items[i])))
			return false;
	return true;
}

/* Copies the draft, with a reference to each name and file. */
static struct maps *finish_draft(struct map_store *store, const struct draft *d,
				 const struct maps *before)
{
	struct maps *maps = mem_zalloc(1, sizeof(*maps) + d->count * sizeof(*d->items));

	maps->store = store;
	maps->n_users = 1;
	maps->count = d->count;
	clock_gettime(CLOCK_REALTIME_COARSE, &maps->read_time);
	for (size_t i = 0; i < d->count; i++) {
		struct mapped *m = &maps->items[i];
		const struct mapped *same = find_same(before, &d->items[i]);

		*m = d->items[i];
		mapped_name_use(m->name);
		if (same)
			m->file = same->file;
		if (m->file)
			m->file->n_users++;
	}
	return maps;
}

struct maps *maps_from_proc(struct map_store *store, const struct mappings *read,
			    const struct timespec *read_time, struct maps *before)
{
	struct draft d = { .items = mem_zalloc(read->count, sizeof(*d.items)) };
	struct maps *maps;

	for (size_t i = 0; i < read->count; i++)
		d.items[d.count++] = (struct mapped){
			.start = read->items[i].start,
			.end = read->items[i].end,
			.offset = read->items[i].offset,
			.name = mapped_name_get(store, &read->items[i]),
			.file = read->items[i].file,
		};
	maps = is_all_the_same(before, &d) ? maps_use(before) : finish_draft(store, &d, before);
	maps->read_time = *read_time;
	for (size_t i = 0; i < d.count; i++)
		mapped_name_release(store, d.items[i].name);
	free(d.items);
	return maps;
}

struct maps *maps_from_events(struct map_store *store, const struct mapping_event *events, size_t n,
			      const struct maps *before)
{
	struct draft d = {};
	struct maps *maps;

	for (size_t i = 0; i < n; i++)
		put_mapped(&d, (struct mapped){
				       .start = events[i].start,
				       .end = events[i].end,
				       .offset = events[i].offset,
				       .time_ns = events[i].time_ns,
				       .name = events[i].name,
				       .file = events[i].file,
			       });
	maps = finish_draft(store, &d, before);
	free(d.items);
	return maps;
}

struct maps *maps_use(struct maps *maps)
{
	if (maps)
		maps->n_users++;
	return maps;
}

void maps_release(struct maps *maps)
{
	if (!maps || --maps->n_users)
		return;
	if (maps->part)
		maps->free_part(maps->part);
	for (size_t i = 0; i < maps->count; i++) {
		mapped_name_release(maps->store, maps->items[i].name);
		if (maps->items[i].file)
			maps->items[i].file->n_users--;
	}
	free(maps);
}

struct mapped *maps_find(struct maps *maps, uint64_t addr)
{
	size_t i = SEARCH_RANK(maps->items, maps->count, end, addr);

	return i < maps->count && maps->items[i].start <= addr ? &maps->items[i] : NULL;
}

/* ---- files ---- */

static struct timespec wall_time(uint64_t ns)
{
	uint64_t wall_ns = clock_wall_ns() - clock_now_ns() + ns;

	return (struct timespec){ (time_t)(wall_ns / NS_PER_S), (long)(wall_ns % NS_PER_S) };
}

/* Caches a name's file, which stays open as long as a mapping has that name. */
static void keep_file(struct mapped_name *name, struct file *file)
{
	if (name->file == file || !file->st.st_mode)
		return;
	if (name->file)
		name->file->n_users--;
	name->file = file;
	file->n_users++;
}

static struct file *find_file(struct map_store *store, struct mapped_name *name, pid_t pid,
			      struct mapping *m, const struct timespec *read_time)
{
	struct file *file;

	m->dev = name->dev;
	m->ino = name->ino;
	m->path = name->path;
	m->known = name->file ? &name->file->st : NULL;
	file = files_get(store->files, pid, m, read_time);
	if (file)
		keep_file(name, file);
	return file;
}

/*
 * Doesn't reuse the name's file if is_elsewhere: other files may share its device, inode and path.
 */
struct file *mapping_event_file(struct map_store *store, struct mapping_event *event, pid_t pid,
				pid_t relative)
{
	struct file *file = event->name->file;
	struct mapping m = {
		.start = event->start,
		.end = event->end,
		.offset = event->offset,
		.mapped_at = wall_time(event->time_ns - CTIME_NS),
		.relative = relative,
	};

	if (event->file)
		return event->file;
	if (file && !file->is_elsewhere)
		return file;
	file = find_file(store, event->name, pid, &m, &m.mapped_at);
	if (file && file->is_elsewhere) {
		event->file = file;
		file->n_users++;
	}
	return file;
}

/* ---- text that was moved ---- */

#define N_SAMPLES     16
#define SAMPLE_BYTES  64
#define MAX_DIFFERENT 2 /* samples that may differ, due to breakpoints */

static bool holds_code(const struct mapping *m, pid_t pid, const struct file *file, uint64_t offset)
{
	uint8_t ours[SAMPLE_BYTES], theirs[SAMPLE_BYTES];
	uint64_t step = (m->end - m->start) / N_SAMPLES;
	unsigned int n_different = 0;

	for (uint64_t i = 0; i < N_SAMPLES; i++) {
		uint64_t at = i * step & ~(SAMPLE_BYTES - 1ULL);
		ssize_t n = pread(file->fd, ours, SAMPLE_BYTES, (off_t)(offset + at));

		if (n <= 0 || !peek_all(pid, m->start + at, theirs, (size_t)n))
			return false;
		n_different += memcmp(ours, theirs, (size_t)n) != 0;
	}
	return n_different <= MAX_DIFFERENT;
}

static bool restore_text(struct mapping *m, pid_t pid, struct file *file, uint64_t offset)
{
	if (offset == UINT64_MAX || !holds_code(m, pid, file, offset))
		return false;
	m->offset = offset;
	m->file = file;
	return true;
}

static bool is_readable(const struct file *file)
{
	return file && file->is_elf && file->fd >= 0;
}

void maps_restore_text(struct map_store *store, struct mappings *read, pid_t pid,
		       const struct timespec *read_time)
{
	for (size_t i = 0; i < read->count; i++) {
		struct mapping *m = &read->items[i], *below = m->below;
		struct file *file = below ? files_get(store->files, pid, below, read_time) : NULL;

		if (!is_readable(file) ||
		    !restore_text(m, pid, file,
				  elfsegs_offset_above(&file->segs, &file->elf, below->offset,
						       m->start - below->start)))
			continue;
		m->dev = below->dev;
		m->ino = below->ino;
		free(m->path);
		m->path = mem_strdup(below->path);
	}
}

void mapping_restore_text(struct map_store *store, struct mapping *m, struct mapping_event *events,
			  size_t n, pid_t pid, pid_t relative)
{
	struct mapping_event *was = NULL;
	struct file *file;

	for (size_t i = 0; mapping_is_memory(m) && i < n; i++)
		if (events[i].name->ino && events[i].start <= m->start && m->end <= events[i].end)
			was = &events[i];
	file = was ? mapping_event_file(store, was, pid, relative) : NULL;
	if (!is_readable(file) ||
	    !restore_text(m, pid, file, was->offset + (m->start - was->start)))
		return;
	m->dev = was->name->dev;
	m->ino = was->name->ino;
	m->path = was->name->path;
}

struct file *mapped_file(struct maps *maps, struct mapped *m, pid_t pid)
{
	struct mapping as_read = {
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.relative = maps->relative,
	};

	if (m->file)
		return m->file;
	if (m->time_ns)
		as_read.mapped_at = wall_time(m->time_ns - CTIME_NS);
	m->file = find_file(maps->store, m->name, pid, &as_read, &maps->read_time);
	if (m->file)
		m->file->n_users++;
	return m->file;
}
