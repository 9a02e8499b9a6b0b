/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Separate files with the symbols of a stripped one: by build-id (/usr/lib/debug/.build-id), by
 * .gnu_debuglink (next to the file, in .debug/ there, and below /usr/lib/debug), in debuginfod's
 * cache, or from its servers.
 *
 * Directories are searched in the root of the process that mapped the file, then in the tracer's; a
 * path never leads out of the root that it began in (roots.h). A file is taken only if it is proven
 * to belong to the stripped one: by the same build-id, or, found by name where not both have one,
 * by its CRC; and in either case by having the same code sections at the same addresses.
 */
#ifndef DEBUGFILE_H
#define DEBUGFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "elf/elffile.h"

struct roots;

/* Search path of debug files. */
struct debug_place {
	int root_fd;	  /* root directory of the process that mapped the file; below 0: unknown */
	int own_root_fd;  /* -1: don't look there */
	const char *path; /* path of the stripped file, from root_fd; NULL: none */
	pid_t gone_pid;	  /* process that mapped it, if that has exited; else 0 */
};

/*
 * Sets the place to that of a file which a process has mapped by that path; frees a former path.
 * The root descriptor belongs to roots. False: the process is gone; another one may have the file,
 * too.
 */
bool debug_place_find(struct debug_place *place, struct roots *roots, pid_t pid, const char *path);
void debug_place_free(struct debug_place *place);

/*
 * Opens the debug file of f by its build-id or its link, in the debug directories and next to the
 * stripped file. Returns its descriptor, with *debug opened on it; -ENOENT: there is none.
 */
int debugfile_open(const struct elffile *f, const struct debug_place *place, struct elffile *debug);

/*
 * Opens it from debuginfod's cache, or if DEBUGINFOD_URLS is set, its servers, with debuginfod's
 * library, loaded on demand. Not possible in a static binary: reported once. Returns what
 * debugfile_open() returns.
 */
int debugfile_fetch(const struct elffile *f, struct elffile *debug);

/*
 * Opens the file that dwz(1) has moved shared parts of debug files into (.gnu_debugaltlink), by its
 * build-id, or by its name, which may be relative to the stripped file's directory. Returns as
 * debugfile_open(), and -ENODATA if f shares nothing.
 */
int debugfile_open_shared(const struct elffile *f, const struct debug_place *place,
			  struct elffile *shared);

#endif
