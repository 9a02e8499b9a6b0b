// SPDX-License-Identifier: GPL-2.0-only
/* Eras of processes and their lists of mappings; see eras.h. */
#include <stdlib.h>

#include "base/mem.h"
#include "process/eras.h"

#define MAX_ERAS 4

struct map_list {
	unsigned int n_users;
	size_t count, capacity;
	struct mapping_event *items;
};

/* ---- lists of mappings ---- */

static struct map_list *list_new(void)
{
	struct map_list *list = mem_zalloc(1, sizeof(*list));

	list->n_users = 1;
	return list;
}

static void list_release(struct map_store *store, struct map_list *list)
{
	if (--list->n_users)
		return;
	for (size_t i = 0; i < list->count; i++) {
		mapped_name_release(store, list->items[i].name);
		if (list->items[i].file)
			list->items[i].file->n_users--;
	}
	store->n_events -= list->count;
	free(list->items);
	free(list);
}

static void list_append(struct map_store *store, struct map_list *list,
			const struct mapping_event *item)
{
	list->items = mem_grow(list->items, list->count, &list->capacity, sizeof(*list->items));
	list->items[list->count++] = *item;
	store->n_events++;
}

/* Appends those of an era's mappings that were made at that time or later. */
static void append_since(struct map_store *store, struct map_list *list, const struct era *era,
			 uint64_t since_ns)
{
	for (size_t i = 0; i < era->count; i++) {
		const struct mapping_event *item = &era->list->items[i];

		if (item->time_ns < since_ns)
			continue;
		mapped_name_use(item->name);
		if (item->file)
			item->file->n_users++;
		list_append(store, list, item);
	}
}

/* Makes the list the era's own from its end on. */
static void own_list(struct map_store *store, struct era *era)
{
	struct map_list *list;

	if (era->count == era->list->count)
		return;
	list = list_new();
	append_since(store, list, era, 0);
	list_release(store, era->list);
	era->list = list;
}

static struct mapping_event make_item(struct map_store *store, const struct mapping *m,
				      uint64_t time_ns)
{
	if (m->file)
		m->file->n_users++;
	return (struct mapping_event){
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.time_ns = time_ns,
		.name = mapped_name_get(store, m),
		.file = m->file,
	};
}

/* ---- eras ---- */

/* Returns the link to the era of that time, or the link where an era that begins then belongs. */
static struct era **find_link(struct era **latest, uint64_t time_ns)
{
	while (*latest && (*latest)->begin_ns > time_ns)
		latest = &(*latest)->older;
	return latest;
}

/* Events of several CPUs don't always come in order: one from before the latest era may follow. */
static struct era *insert_era(struct era **latest, uint64_t time_ns, struct map_list *list,
			      size_t n)
{
	struct era **link = find_link(latest, time_ns), *era = mem_zalloc(1, sizeof(*era));

	era->older = *link;
	era->begin_ns = time_ns;
	era->list = list;
	era->count = n;
	return *link = era;
}

static void keep_maps(struct era *era, struct maps *maps, size_t n)
{
	maps_use(maps);
	maps_release(era->maps);
	era->maps = maps;
	era->n_in_maps = n;
	era->maps_are_read = false;
}

struct era *era_begin(struct era **latest, uint64_t time_ns)
{
	return insert_era(latest, time_ns, list_new(), 0);
}

struct era *era_begin_as(struct era **latest, uint64_t time_ns, const struct era *other, size_t n)
{
	struct era *era;

	other->list->n_users++;
	era = insert_era(latest, time_ns, other->list, n);
	era->n_preloaded = other->n_preloaded < n ? other->n_preloaded : n;
	if (other->maps && other->n_in_maps == n) {
		keep_maps(era, other->maps, n);
		era->maps_are_read = other->maps_are_read;
	}
	return era;
}

static void era_free(struct map_store *store, struct era *era)
{
	list_release(store, era->list);
	maps_release(era->maps);
	free(era);
}

void eras_free(struct map_store *store, struct era **link)
{
	for (struct era *era; (era = *link);) {
		*link = era->older;
		era_free(store, era);
	}
}

void eras_drop_old(struct map_store *store, struct era **latest)
{
	for (int i = 0; *latest && i < MAX_ERAS; i++)
		latest = &(*latest)->older;
	eras_free(store, latest);
}

struct era *eras_find(struct era *latest, uint64_t time_ns)
{
	return *find_link(&latest, time_ns);
}

struct era *eras_find_before(struct era *latest, uint64_t time_ns)
{
	struct era *era = eras_find(latest, time_ns);

	while (!era && latest && latest->older)
		latest = latest->older;
	return !era && latest && latest->was_read ? latest : era;
}

void era_append(struct map_store *store, struct era *era, const struct mapping *m, uint64_t time_ns,
		pid_t pid, pid_t relative)
{
	struct mapping restored = *m;
	struct mapping_event item;

	mapping_restore_text(store, &restored, era->list->items, era->count, pid, relative);
	own_list(store, era);
	if (era->count && era->list->items[era->count - 1].time_ns > time_ns)
		time_ns = era->list->items[era->count - 1].time_ns; /* they stay in order */
	item = make_item(store, &restored, time_ns);
	list_append(store, era->list, &item);
	era->count++;
}

static bool was_made_since(const struct era *era, const struct mapping_event *item,
			   uint64_t since_ns)
{
	for (size_t i = era->count; i-- > 0 && era->list->items[i].time_ns >= since_ns;)
		if (era->list->items[i].start == item->start &&
		    era->list->items[i].name == item->name)
			return true;
	return false;
}

void era_replace(struct map_store *store, struct era *era, const struct mappings *read,
		 uint64_t since_ns)
{
	struct map_list *list = list_new();

	for (size_t i = 0; i < read->count; i++) {
		struct mapping_event item = make_item(store, &read->items[i], era->begin_ns);

		if (was_made_since(era, &item, since_ns))
			mapped_name_release(store, item.name);
		else
			list_append(store, list, &item);
	}
	append_since(store, list, era, since_ns);
	list_release(store, era->list);
	era->list = list;
	era->count = list->count;
	era->n_in_maps = 0;
	era->n_preloaded = 0;
}

void era_preload_files(struct map_store *store, struct era *era, pid_t pid, pid_t relative,
		       void (*visit)(struct file *file, void *arg), void *arg)
{
	for (; era->n_preloaded < era->count; era->n_preloaded++) {
		struct file *file = mapping_event_file(store, &era->list->items[era->n_preloaded],
						       pid, relative);

		if (file)
			visit(file, arg);
	}
}

size_t era_count_until(const struct era *era, uint64_t time_ns)
{
	size_t n = era->count;

	while (n > 0 && era->list->items[n - 1].time_ns > time_ns)
		n--;
	return n;
}

/* ---- maps ---- */

uint64_t era_maps_time(const struct era *era)
{
	return era->n_in_maps ? era->list->items[era->n_in_maps - 1].time_ns : era->begin_ns;
}

void era_keep_read(struct era *era, struct maps *maps, size_t n)
{
	keep_maps(era, maps, n);
	era->maps_are_read = true;
}

struct maps *era_maps(struct map_store *store, struct era *era, size_t n, pid_t relative)
{
	struct maps *maps;

	if (era->maps && era->n_in_maps == n && !era->maps_are_read)
		return maps_use(era->maps);
	maps = maps_from_events(store, era->list->items, n, era->maps);
	maps->relative = relative;
	if (!era->maps || n > era->n_in_maps)
		keep_maps(era, maps, n);
	return maps;
}
