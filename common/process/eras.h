/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The eras of a process, from one exec to the next: latest first. An era has its mappings in the
 * order in which they were made. Children share the list of their parent: a list only grows, an era
 * uses the first `count` of its mappings, and copies them before it appends where another era has
 * appended already.
 */
#ifndef ERAS_H
#define ERAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/maps.h"

struct map_list;

struct era {
	struct era *older;
	uint64_t begin_ns, serial;
	struct map_list *list;
	size_t count;	   /* of the list's */
	bool was_read;	   /* from /proc: it began before that time */
	struct maps *maps; /* NULL, or as of the first n_in_maps of the list */
	size_t n_in_maps;
	size_t n_preloaded; /* whose files were opened, see era_preload_files() */
	bool maps_are_read; /* from /proc, after that; not by the list alone */
};

/* Puts a new era of that time in its place among the eras. With no mappings ... */
struct era *era_begin(struct era **latest, uint64_t time_ns);

/* ... or with the first n that another has. */
struct era *era_begin_as(struct era **latest, uint64_t time_ns, const struct era *other, size_t n);

/* Frees all eras from one on. store: where the mappings' names are. */
void eras_free(struct map_store *store, struct era **link);

/* Frees all but the latest few, those that may still be asked for. */
void eras_drop_old(struct map_store *store, struct era **latest);

/* Returns the era of that time, or NULL. */
struct era *eras_find(struct era *latest, uint64_t time_ns);

/* The same, or the oldest if it was read: what was read counts for the time before, too. */
struct era *eras_find_before(struct era *latest, uint64_t time_ns);

/*
 * Appends a mapping of a process. One that comes late counts as made when the one before it was.
 * Text that was moved is its file's, see maps_restore_text().
 */
void era_append(struct map_store *store, struct era *era, const struct mapping *m, uint64_t time_ns,
		pid_t pid, pid_t relative);

/*
 * Replaces the mappings made before since_ns by those that were read, as if the era had had them
 * all the time. Later ones stay: a stack from before the reading may still be located by them.
 */
void era_replace(struct map_store *store, struct era *era, const struct mappings *read,
		 uint64_t since_ns);

/* Calls visit(file, arg) for the files of mappings that have come since the last time. */
void era_preload_files(struct map_store *store, struct era *era, pid_t pid, pid_t relative,
		       void (*visit)(struct file *file, void *arg), void *arg);

/* How many of an era's mappings were there at that time. */
size_t era_count_until(const struct era *era, uint64_t time_ns);

/*
 * Returns the time of the last mapping that its maps have; that of its beginning if there is none.
 */
uint64_t era_maps_time(const struct era *era);

/* Keeps maps that were read, for who asks next: when the era had its first n mappings. */
void era_keep_read(struct era *era, struct maps *maps, size_t n);

/* Returns the first n of its mappings, sorted, by the list alone: one more user. */
struct maps *era_maps(struct map_store *store, struct era *era, size_t n, pid_t relative);

#endif
