/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of files that traced processes execute, including the vdso: one entry per file, shared
 * by all processes that map it. Data derived from a file (symbols, unwind rows) is attached to its
 * entry.
 *
 * A file is opened once, and stays open as long as something is read from it, so that its inode
 * number can't be reused. A closed file is recognized by its device, inode, size and times.
 */
#ifndef FILES_H
#define FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "base/hashtable.h"
#include "elf/elf64.h"
#include "elf/elfsegs.h"
#include "process/procmaps.h"

enum file_user {
	FILE_SYMBOLS,
	FILE_ROWS,
	FILE_RUNTIME,
	FILE_VARIABLES,
	FILE_USERS,
};

/* Data that a module has derived from a file. */
struct file_part {
	void *data;
	void (*free)(void *data); /* called when the file is released; NULL: nothing to free */
	/* called before free, except at the end of the run; may be NULL */
	void (*release)(void *data);
	bool is_expensive; /* expensive to make: retain the file for longer */
};

struct files;

struct file {
	struct hashlink link;
	struct files *files;
	dev_t dev; /* as in /proc/PID/maps; 0 for the vdso */
	ino_t ino;
	char *name;	 /* last component of the first path that led to it; or "[vdso]" */
	uint64_t serial; /* unique within a table and never reused; not 0 */
	struct stat st;	 /* status at open; all zero: never opened */
	int fd;		 /* readable descriptor; -1: not open */
	int open_error;	 /* -errno of the failed open; 0: unknown */
	/* O_PATH descriptor of the file if fd is a copy (mapfile_copy()); else -1 */
	int pin_fd;
	uint64_t tried_ns;    /* last attempt to copy an unreadable file; 0: never */
	void *image;	      /* contents of the vdso, else NULL */
	bool is_native_image; /* image is the vdso of 64-bit programs */
	struct elf64 elf;     /* opened on fd or image; valid if is_elf */
	bool is_elf;
	struct elfsegs segs;
	bool is_elsewhere; /* stat(2) reports another device or inode than the mappings do */
	unsigned int n_users;
	uint32_t used; /* latest epoch in which the file was requested or had users */
	struct file_part parts[FILE_USERS];
};

struct files *files_new(void);
void files_free(struct files *files);

/*
 * Returns the file of mapping m, and opens it if it isn't open. read_time: when m was read (see
 * mapfile_open()). A file that can't be opened has an entry with a name only. NULL: memory without
 * a file. The table owns the entry.
 */
struct file *files_get(struct files *files, pid_t pid, const struct mapping *m,
		       const struct timespec *read_time);

/*
 * Releases files that have neither users nor symbols, by age (epoch.h): expensive ones after 40
 * epochs, the vdso never.
 */
void files_age(struct files *files, uint32_t epoch);

/*
 * Returns true if files_age() would release all files that are not in use, since the table is full.
 */
bool files_are_many(const struct files *files);

/* Returns true if both statuses are of the same file with the same contents. */
bool file_is_same_version(const struct stat *a, const struct stat *b);

/* Returns true if the open file fd still has the contents that it had when st was its status. */
bool file_has_contents_of(int fd, const struct stat *st);

/* Returns true if the file still has the contents that it was opened with. */
bool file_is_unchanged(const struct file *file);

/*
 * Like file_is_unchanged(), but stricter, for new mappings, where opening again is harmless: a file
 * may have been overwritten with the same size and time, as by cp -p.
 */
bool file_is_untouched(const struct file *file);

/*
 * Returns the length of a path without the kernel's marker of a deleted file, as in
 * "/usr/lib/libfoo.so (deleted)".
 */
size_t file_path_length(const char *path);

/* Returns the last component of a mapping's path; "[anon]" if there is none. Freed with free(). */
char *file_base_name(const char *path);

size_t files_count(const struct files *files);

#endif
