/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The executable mappings of a process at a given time, each with its file. Shared by all users and
 * by processes with equal mappings; immutable, but for files, which are opened on demand.
 */
#ifndef MAPS_H
#define MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "process/files.h"
#include "process/procmaps.h"

/* The name of mappings: a file, or another name; shared by all mappings. */
struct mapped_name {
	struct hashlink link;
	dev_t dev;
	ino_t ino;
	unsigned int n_users;
	struct file *file; /* NULL: not requested yet, or not open; counts as one of its users */
	char path[];
};

/* As an event reports it. */
struct mapping_event {
	uint64_t start, end, offset;
	uint64_t time_ns; /* CLOCK_MONOTONIC, when it was made or a little before */
	struct mapped_name *name;
	/* set if opened and is_elsewhere: counts as one of its users; else NULL */
	struct file *file;
};

/* State that all maps share. */
struct map_store {
	struct hashtable names;
	struct files *files;
	size_t n_events; /* retained events */
};

struct mapped {
	uint64_t start, end, offset;
	uint64_t time_ns; /* when it was made or a little before; 0: unknown */
	struct mapped_name *name;
	struct file *file; /* NULL: not requested yet, or none */
};

struct maps {
	struct map_store *store;
	unsigned int n_users;
	pid_t relative; /* as in struct mapping */
	struct timespec read_time;
	void *part; /* the unwinder's part */
	void (*free_part)(void *part);
	size_t count;
	struct mapped items[]; /* ascending, not overlapping */
};

void map_store_free(struct map_store *store);

/* Returns the name of a mapping; the caller is a user of it and releases it. */
struct mapped_name *mapped_name_get(struct map_store *store, const struct mapping *m);
struct mapped_name *mapped_name_use(struct mapped_name *name);
void mapped_name_release(struct map_store *store, struct mapped_name *name);

/*
 * Makes maps from /proc/PID/maps, or from n events in their order: new mappings replace those that
 * they overlap. Files that are open in `before` (NULL: none) are taken over; if nothing is new, the
 * same maps are returned, with one more user. read_time: CLOCK_REALTIME_COARSE, before reading.
 * Freed with maps_release().
 */
struct maps *maps_from_proc(struct map_store *store, const struct mappings *read,
			    const struct timespec *read_time, struct maps *before);
struct maps *maps_from_events(struct map_store *store, const struct mapping_event *events, size_t n,
			      const struct maps *before);

/*
 * Programs move their text to memory at the same addresses, to have it on huge pages. Where memory
 * holds the code of the file that was mapped there, the mapping becomes one of that file, found by
 * the mapping below it, or by n events, of which the latest counts. relative: as in struct mapping.
 */
void maps_restore_text(struct map_store *store, struct mappings *read, pid_t pid,
		       const struct timespec *read_time);
void mapping_restore_text(struct map_store *store, struct mapping *m, struct mapping_event *events,
			  size_t n, pid_t pid, pid_t relative);

/* Adds or removes a user; the last one frees the maps. NULL is allowed. */
struct maps *maps_use(struct maps *maps);
void maps_release(struct maps *maps);

/* Returns the mapping that holds addr, or NULL. */
struct mapped *maps_find(struct maps *maps, uint64_t addr);

/*
 * Returns the file of a mapping of process pid, as an event reported it. NULL: memory without a
 * file. The event retains a file that can only be found while the process is alive. relative: as in
 * struct mapping.
 */
struct file *mapping_event_file(struct map_store *store, struct mapping_event *event, pid_t pid,
				pid_t relative);

/* Returns the file of one of these mappings, which process pid has; NULL: memory without a file. */
struct file *mapped_file(struct maps *maps, struct mapped *m, pid_t pid);

#endif
