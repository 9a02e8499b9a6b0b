/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of JIT code, from the perf map that a JIT compiler writes for profilers:
 * /tmp/perf-PID.map, lines of "START SIZE name" in hexadecimal, with or without 0x
 * (tools/perf/Documentation/jit-interface.txt in the kernel's source).
 *
 * The file is searched in the root folder of its process, under the pid that the process itself
 * sees, and accepted only if it is a regular file owned by the process's user or root. It stays
 * open, so that names are found after the process has ended.
 */
#ifndef JITMAP_H
#define JITMAP_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct jitmap;

/*
 * root_fd: the process's root folder. *st receives the file's status. NULL with errno set: there is
 * no file, or it is refused (EACCES).
 */
struct jitmap *jitmap_open(int root_fd, pid_t pid, struct stat *st);

/* From an open file, whose descriptor it takes over; for tests. */
struct jitmap *jitmap_from(int fd);
void jitmap_free(struct jitmap *map);

/* Drops the names; the next lookup reads the file again. */
void jitmap_drop(struct jitmap *map);

/* The memory that the names take now, in bytes, about. */
size_t jitmap_bytes(const struct jitmap *map);

/*
 * The name of the code at an address, or NULL. Where definitions overlap, the last one wins. Reads
 * the lines added to the file since the last call first. Valid until the next call.
 */
const char *jitmap_find(struct jitmap *map, uint64_t addr);

#endif
