/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of JIT code, from the perf map that a JIT compiler writes for profilers: /tmp/perf-PID.map,
 * lines of "START SIZE name" in hexadecimal, with or without 0x
 * (tools/perf/Documentation/jit-interface.txt in the kernel's source). jitfile_open() chooses and
 * checks the file. It stays open, so that names are found after the process has ended.
 *
 * A JIT compiler reuses addresses, and its file only grows: the file's size at a given time
 * determines which lines applied then.
 */
#ifndef JITMAP_H
#define JITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The file in which a process publishes the names of code that it makes: a perf map in the root
 * directory of its process, with the pid that the process itself sees. It is accepted only if it is
 * a regular file owned by the process's user or root.
 */

/*
 * root_fd: the process's root directory. *st receives the file's status. NULL: there is none, or it
 * is refused, which is reported once.
 */
struct jitmap *jitfile_open(int root_fd, pid_t pid, struct stat *st);

struct jitmap;

/* Makes a map from an open file, whose descriptor it takes over. */
struct jitmap *jitmap_from(int fd);
void jitmap_free(struct jitmap *map);

/* Drops the names; the next lookup reads the file again. */
void jitmap_drop(struct jitmap *map);

/* Returns the memory that the names take now, in bytes, about. */
size_t jitmap_bytes(const struct jitmap *map);

/* Returns the file, for as long as the map is there. */
int jitmap_fd(const struct jitmap *map);

/*
 * Returns the number of the line of the code at an address: the last one when the file had that
 * size; with size 0, for an unknown moment, only if all lines of the address have one name. 0:
 * there is none. Reads what was added since the last call first. A file that is too large has no
 * names: reported once.
 */
uint32_t jitmap_find(struct jitmap *map, uint64_t addr, uint64_t size);

/*
 * Returns the name of that line; NULL: no name, or the file was rewritten. Valid until the next
 * call.
 */
const char *jitmap_name(struct jitmap *map, uint32_t number);

#endif
