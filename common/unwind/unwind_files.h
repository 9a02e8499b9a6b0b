/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that traced processes execute, each with its unwind tables, compiled once. A file is
 * known by device and inode for as long as some process maps it, which keeps the inode from being
 * used for another; after that it is opened and looked at again.
 */
#ifndef UNWIND_FILES_H
#define UNWIND_FILES_H

#include <time.h>

#include "elf/elfsegs.h"
#include "process/procmaps.h"
#include "unwind/unwind_tables.h"

struct unwind_file {
	struct elfsegs segs;
	struct unwind_run run; /* empty: no tables */
	unsigned int n_users;  /* mappings; the caller counts */
};

struct unwind_files;

struct unwind_files *unwind_files_new(struct unwind_tables *tables);
void unwind_files_free(struct unwind_files *files);

/*
 * The file behind a mapping that was read at read_time, compiled if that hasn't been done. NULL for
 * memory without a file and for files that can't be opened. It stays the cache's.
 */
struct unwind_file *unwind_files_get(struct unwind_files *files, pid_t pid, const struct mapping *m,
				     const struct timespec *read_time);

/* For -v: files compiled, and those without tables because memory ran out. */
void unwind_files_count(const struct unwind_files *files, size_t *n_files, size_t *n_refused);

#endif
