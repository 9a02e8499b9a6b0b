/* SPDX-License-Identifier: GPL-2.0-only */
/* What areas of memory (bpf/abi/area.h) are called: the paths of their files, as BPF sends them. */
#ifndef AREAS_H
#define AREAS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"

struct areas;

struct areas *areas_new(void);
void areas_free(struct areas *areas);

/*
 * Keeps a definition of so many bytes, in place of an earlier one; one that is broken is left out.
 */
void areas_define(struct areas *areas, const struct area_def *def, size_t size);

/*
 * The path as /proc/PID/maps has it: "/usr/bin/x", "/tmp/y (deleted)", "[vdso]". It begins with
 * "..." where the kernel's part of it was too long. "" for what has no name, NULL if it isn't
 * known.
 */
const char *areas_name(const struct areas *areas, const struct area_id *id);

/*
 * A report has been written, and counting begins anew: BPF sends the names of what it counts again.
 * Names that neither this report nor the one before used are let go of.
 */
void areas_end_report(struct areas *areas);

/* "file", "heap", ... */
const char *area_kind_name(uint32_t kind);

#endif
