/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The executable mappings of a process at a given time, each with its file. Shared by all users and
 * by processes with equal mappings; immutable, except for the files, which are opened on demand.
 */
#ifndef MAPS_H
#define MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "process/files.h"
#include "process/procmaps.h"

/* A file's path and inode, or another name; shared by all mappings with that name. */
struct mapped_name {
	struct hashlink link;
	dev_t dev;
	ino_t ino;
	unsigned int n_users;
	struct file *file; /* holds a reference; NULL: not requested yet, or not open */
	char path[];
};

/* A mapping as an event reports it. */
struct mapping_event {
	uint64_t start, end, offset;
	uint64_t time_ns; /* CLOCK_MONOTONIC, at mmap(2) or a little earlier */
	struct mapped_name *name;
	/* holds a reference if opened and is_elsewhere; else NULL */
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
	uint64_t time_ns; /* CLOCK_MONOTONIC, at mmap(2) or a little earlier; 0: unknown */
	struct mapped_name *name;
	struct file *file; /* holds a reference; NULL: not requested yet, or none */
};

struct maps {
	struct map_store *store;
	unsigned int n_users;
	pid_t relative; /* see struct mapping */
	struct timespec read_time;
	void *part; /* data of the unwinder, freed with free_part() */
	void (*free_part)(void *part);
	size_t count;
	struct mapped items[]; /* ascending, not overlapping */
};

void map_store_free(struct map_store *store);

/* Returns the name of a mapping, with a reference, dropped by mapped_name_release(). */
struct mapped_name *mapped_name_get(struct map_store *store, const struct mapping *m);
struct mapped_name *mapped_name_use(struct mapped_name *name);
void mapped_name_release(struct map_store *store, struct mapped_name *name);

/*
 * Make maps from /proc/PID/maps, or from n events in order: new mappings replace those that they
 * overlap. Open files of equal mappings in `before` (NULL: none) are reused; if nothing is new,
 * maps_from_proc() returns `before` with one more user. read_time: CLOCK_REALTIME_COARSE, before
 * the read. Freed with maps_release().
 */
struct maps *maps_from_proc(struct map_store *store, const struct mappings *read,
			    const struct timespec *read_time, struct maps *before);
struct maps *maps_from_events(struct map_store *store, const struct mapping_event *events, size_t n,
			      const struct maps *before);

/*
 * Restore the files of text that a program has moved to memory at the same addresses, for huge
 * pages. If memory holds the code of the file mapped there before, its mapping becomes one of that
 * file, found by the mapping below or the latest of n events. relative: as in struct mapping.
 */
void maps_restore_text(struct map_store *store, struct mappings *read, pid_t pid,
		       const struct timespec *read_time);
void mapping_restore_text(struct map_store *store, struct mapping *m, struct mapping_event *events,
			  size_t n, pid_t pid, pid_t relative);

/* Add or remove a user; the last one frees the maps. maps may be NULL. */
struct maps *maps_use(struct maps *maps);
void maps_release(struct maps *maps);

/* Returns the mapping that holds addr, or NULL. */
struct mapped *maps_find(struct maps *maps, uint64_t addr);

/*
 * Returns the file of a mapping that an event reported for process pid; NULL: memory without a
 * file. The event retains a file that can only be found while the process is alive. relative: as in
 * struct mapping.
 */
struct file *mapping_event_file(struct map_store *store, struct mapping_event *event, pid_t pid,
				pid_t relative);

/* Returns the file of a mapping of process pid; NULL: memory without a file. */
struct file *mapped_file(struct maps *maps, struct mapped *m, pid_t pid);

#endif
