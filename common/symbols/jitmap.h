/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of code that was made at run time, from the file that a JIT compiler writes for profilers:
 * /tmp/perf-PID.map, lines of "START SIZE name" in hexadecimal, with or without 0x
 * (tools/perf/Documentation/jit-interface.txt in the kernel's source).
 *
 * It is looked for in the root folder of its process, under the pid that its process sees, and
 * taken only if it is a regular file that belongs to the process's user or to root. The file stays
 * open, so that names can be had when the process has ended.
 */
#ifndef JITMAP_H
#define JITMAP_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct jitmap;

/*
 * root_fd: the process's root folder; *st becomes the file's. NULL with errno set: there is none,
 * or it is refused (EACCES).
 */
struct jitmap *jitmap_open(int root_fd, pid_t pid, struct stat *st);

/* From an open file, which it takes over; for tests. */
struct jitmap *jitmap_from(int fd);
void jitmap_free(struct jitmap *map);

/* Forgets what was read, to be read again when it is needed. */
void jitmap_drop(struct jitmap *map);

/* The memory that it takes by now, about. */
size_t jitmap_bytes(const struct jitmap *map);

/*
 * The name of the code at an address, or NULL. Where definitions overlap, the last one holds. What
 * has been added to the file since is read first. Valid until the next call.
 */
const char *jitmap_find(struct jitmap *map, uint64_t addr);

#endif
