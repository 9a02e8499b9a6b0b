/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of a jitdump file, which JIT compilers write for profilers: what code they have made,
 * where they have moved it, and its source lines. Format: tools/perf/Documentation/
 * jitdump-specification.txt in the kernel's source, version 2 of 09/15/2016. Unwinding information
 * and the code itself are skipped.
 */
#ifndef JITDUMP_H
#define JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct jitdump;
struct jitdump_code; /* lives until its dump is dropped */

/* From here on, code (NULL: none any more, or what has no name) is at these addresses. */
typedef void jitdump_visit_fn(void *arg, uint64_t start, uint64_t size,
			      const struct jitdump_code *code);

/* Whether this process has written the file, as it sees its own pid, on this machine. */
bool jitdump_is_of(int fd, pid_t inner_pid);

struct jitdump *jitdump_new(bool with_lines);
void jitdump_free(struct jitdump *dump);

/* Forgets all codes; the file is to be read again from 0. */
void jitdump_drop(struct jitdump *dump);

/*
 * Reads the records that are there as a whole between two offsets, of which the second is where the
 * file ends now. Returns the offset where to go on.
 */
uint64_t jitdump_read(struct jitdump *dump, int fd, uint64_t from, uint64_t end,
		      jitdump_visit_fn *visit, void *arg);

const char *jitdump_name(const struct jitdump_code *code);

/* The source line of a place in the code, and its file; 0: not known. */
uint32_t jitdump_line(const struct jitdump *dump, const struct jitdump_code *code, uint64_t offset,
		      const char **file);

/* The memory in bytes, about. */
size_t jitdump_bytes(const struct jitdump *dump);

#endif
