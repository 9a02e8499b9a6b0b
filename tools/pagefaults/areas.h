/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of memory areas (bpf/abi/area.h): paths of their files, from BPF. */
#ifndef AREAS_H
#define AREAS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"
#include "base/idmap.h"

/* All zero: none. */
struct areas {
	struct idmap by_hash;
	uint32_t n_reports;
};

void areas_clear(struct areas *areas);

/* Stores a definition of size bytes, replacing an earlier one; drops malformed ones. */
void areas_define(struct areas *areas, const struct area_def *def, size_t size);

/*
 * Returns the path as in /proc/PID/maps: "/usr/bin/x", "/tmp/y (deleted)", "[vdso]". Begins with
 * "..." if BPF truncated it. "": no name; NULL: unknown.
 */
const char *areas_name(const struct areas *areas, const struct area_id *id);

/*
 * Ends a report, after which BPF sends the names of counted areas again. Evicts names unused in
 * this report and the previous one.
 */
void areas_end_report(struct areas *areas);

/* Returns "file", "heap", ... */
const char *area_kind_name(uint32_t kind);

#endif
