/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of JIT code, from the perf map that a JIT compiler writes for profilers:
 * /tmp/perf-PID.map, lines of "START SIZE name" in hexadecimal, with or without 0x
 * (tools/perf/Documentation/jit-interface.txt in the kernel's source), or from a jitdump
 * (jitdump.h). Which file it is, and whether it is taken: jitfile.h. It stays open, so that names
 * are found after the process has ended.
 */
#ifndef JITMAP_H
#define JITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitmap;

/* From an open file, whose descriptor it takes over. */
struct jitmap *jitmap_from(int fd);
struct jitmap *jitmap_from_dump(int fd, bool with_lines);
void jitmap_free(struct jitmap *map);

/* Drops the names; the next lookup reads the file again. */
void jitmap_drop(struct jitmap *map);

/* The memory that the names take now, in bytes, about. */
size_t jitmap_bytes(const struct jitmap *map);

/*
 * The name of the code at an address, or NULL. Where definitions overlap, the last one wins. Reads
 * the lines added to the file since the last call first. A file that is too large has no names,
 * which is said once. Valid until the next call.
 */
const char *jitmap_find(struct jitmap *map, uint64_t addr);

/* The source line of an address, with its file, likewise; 0: not known. */
uint32_t jitmap_line(struct jitmap *map, uint64_t addr, const char **file);

#endif
