/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of areas of memory (bpf/abi/area.h): the paths of their files, as BPF sends them. */
#ifndef AREAS_H
#define AREAS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"

struct areas;

struct areas *areas_new(void);
void areas_free(struct areas *areas);

/* Stores a definition of size bytes, in place of an earlier one; a broken one is dropped. */
void areas_define(struct areas *areas, const struct area_def *def, size_t size);

/*
 * Returns the path as in /proc/PID/maps: "/usr/bin/x", "/tmp/y (deleted)", "[vdso]". It begins with
 * "..." if it was truncated in the kernel. "": no name; NULL: unknown.
 */
const char *areas_name(const struct areas *areas, const struct area_id *id);

/*
 * Ends a report; counting begins anew: BPF sends the names of what it counts again. Evicts names
 * that neither this report nor the one before used.
 */
void areas_end_report(struct areas *areas);

/* "file", "heap", ... */
const char *area_kind_name(uint32_t kind);

#endif
