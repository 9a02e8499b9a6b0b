/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of JIT code, from the perf map that a JIT compiler writes for profilers: /tmp/perf-PID.map,
 * lines of "START SIZE name" in hexadecimal, with or without 0x
 * (tools/perf/Documentation/jit-interface.txt in the kernel's source). jitfile_open() finds and
 * checks the file. It stays open, so that names are found after the process has ended.
 *
 * A JIT compiler reuses addresses, and its file only grows: the file's size at a given time
 * determines which lines applied then.
 */
#ifndef JITMAP_H
#define JITMAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Opens a process's perf map: in root_fd, the process's root directory, by the pid in the process's
 * own namespace. It must be a regular file, owned by the process's user or root, and not older than
 * the process. *st receives the file's status. NULL: no perf map, or it is refused, which is
 * reported once.
 */
struct jitmap *jitfile_open(int root_fd, pid_t pid, struct stat *st);

struct jitmap;

/* Creates a map of an open file; takes over the descriptor. */
struct jitmap *jitmap_from(int fd);
void jitmap_free(struct jitmap *map);

/* Frees the names; the next lookup reads the file again. */
void jitmap_drop(struct jitmap *map);

/* Returns the approximate current memory of the names, in bytes. */
size_t jitmap_bytes(const struct jitmap *map);

/* Returns the file's descriptor, valid until jitmap_free(). */
int jitmap_fd(const struct jitmap *map);

/*
 * Returns the number of the line that describes the code at addr: the last one when the file had
 * that size; with size 0 (time unknown), only if all lines at the address have the same name. 0:
 * none. Reads new lines of the file first. A file that is too large has no names: reported once.
 */
uint32_t jitmap_find(struct jitmap *map, uint64_t addr, uint64_t size);

/*
 * Returns the name in a numbered line; NULL: no name, or the file was rewritten. Valid until the
 * next call.
 */
const char *jitmap_name(struct jitmap *map, uint32_t number);

#endif
