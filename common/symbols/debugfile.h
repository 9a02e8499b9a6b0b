/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the separate debug file of a stripped file: by build-id (/usr/lib/debug/.build-id), by
 * .gnu_debuglink (next to the file, in .debug/ there, and below /usr/lib/debug), in debuginfod's
 * cache, or on its servers.
 *
 * Directories are searched in the root of the process that mapped the file, then in the tracer's; a
 * path never leads out of the root that it began in (roots.h). A debug file is accepted only if it
 * provably belongs to the stripped one: by the same build-id or, if it was found by name and one of
 * the two has no build-id, by its CRC; in either case it has the same code sections at the same
 * addresses.
 */
#ifndef DEBUGFILE_H
#define DEBUGFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "elf/elffile.h"

struct roots;

/* Search path of debug files. */
struct debug_place {
	int root_fd;	  /* root of the process that mapped the file; negative: unknown */
	int own_root_fd;  /* the tracer's root directory; -1: not searched */
	const char *path; /* path of the stripped file in root_fd; NULL: none */
	pid_t gone_pid;	  /* process that mapped the file, if it has exited; else 0 */
};

/*
 * Fills in the search path for a file that process pid has mapped as path; frees the former path.
 * root_fd is borrowed from roots. False: the process is gone; try another process that has the file
 * mapped.
 */
bool debug_place_find(struct debug_place *place, struct roots *roots, pid_t pid, const char *path);
void debug_place_free(struct debug_place *place);

/*
 * Opens the debug file of f by its build-id or .gnu_debuglink, in the debug directories and next to
 * the stripped file. Returns its descriptor, with *debug opened on it; -ENOENT: not found.
 */
int debugfile_open(const struct elffile *f, const struct debug_place *place, struct elffile *debug);

/*
 * Opens the debug file of f from debuginfod's cache or, if DEBUGINFOD_URLS is set, from its
 * servers, with debuginfod's library, loaded on demand. Not possible in a static binary: reported
 * once. Returns the same as debugfile_open().
 */
int debugfile_fetch(const struct elffile *f, struct elffile *debug);

/*
 * Opens the file that dwz(1) has moved shared parts of debug files into (.gnu_debugaltlink), by its
 * build-id, or by its name, which may be relative to the stripped file's directory. Returns the
 * same as debugfile_open(), and -ENODATA if f has no shared parts.
 */
int debugfile_open_shared(const struct elffile *f, const struct debug_place *place,
			  struct elffile *shared);

/* ---- by build-id from elfutils' debuginfod: debuginfod-client-config(7) ---- */

/*
 * Queries the servers of DEBUGINFOD_URLS; -ENOENT if none are set or none has the file. Gives up
 * when a signal that ends the run is pending, or when no data arrives for 5 s: then the servers are
 * disabled for 5 minutes, which is reported once.
 */
int debuginfod_download(const uint8_t *id, size_t bytes);

/*
 * Returns true if this was called with that build-id before. Servers are not asked twice, since a
 * query takes long if none answers; the list is cleared after 4096 ids.
 */
bool debuginfod_was_asked(const uint8_t *id, size_t bytes);

#endif
