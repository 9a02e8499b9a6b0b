/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbols of a file that processes map: read now, or preloaded in the background before names
 * are requested.
 */
#ifndef FILE_SYMS_H
#define FILE_SYMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/background.h"

struct debug_place;
struct elfsyms;
struct file;

/* NULL: there are none, or the file has changed. Freed with elfsyms_free(). */
struct elfsyms *file_syms_read(const struct file *file, const struct debug_place *place);

/* Memory limit of all preloaded symbols that were not taken yet. */
struct syms_room {
	uint64_t bytes; /* that they have; atomic */
	uint64_t max_bytes;
};

/* Symbols of one file; all zero: not requested ahead. */
struct syms_ahead {
	struct job job;
	const struct file *file;
	const struct debug_place *place;
	struct syms_room *room;
	struct elfsyms *syms; /* NULL: there are none */
	uint64_t bytes;
	bool is_tried;
	bool is_expected; /* the job was added; the worker thread never reads this */
};

/*
 * Reads them in the background, unless requested before. The arguments must stay
 * valid until syms_ahead_take() or syms_ahead_drop().
 */
void syms_ahead_expect(struct syms_ahead *ahead, struct background *background,
		       const struct file *file, const struct debug_place *place,
		       struct syms_room *room);

/*
 * Hands the preloaded symbols over to the caller. False: there are none, because of the memory
 * limit.
 */
bool syms_ahead_take(struct syms_ahead *ahead, struct background *background,
		     struct elfsyms **syms);

/* Waits for the job and frees what it has read; they may be requested anew. */
void syms_ahead_drop(struct syms_ahead *ahead, struct background *background);

#endif
