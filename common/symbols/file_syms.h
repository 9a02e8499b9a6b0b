/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbols of a file that processes map: read now, or ahead in the background, before somebody
 * asks for names.
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

/* What all that were read ahead and not taken yet may have in memory. */
struct syms_room {
	uint64_t bytes; /* that they have; atomic */
	uint64_t max_bytes;
};

/* Symbols of one file; all zero: nobody has asked to read them ahead. */
struct syms_ahead {
	struct chore chore;
	const struct file *file;
	const struct debug_place *place;
	struct syms_room *room;
	struct elfsyms *syms; /* NULL: there are none */
	uint64_t bytes;
	bool is_tried;
	bool is_expected; /* the chore was added; the background never looks */
};

/*
 * Reads them in the background, unless it was asked to before; file, place and room, and `ahead`
 * itself, stay where they are until syms_ahead_take() or syms_ahead_drop().
 */
void syms_ahead_expect(struct syms_ahead *ahead, struct background *background,
		       const struct file *file, const struct debug_place *place,
		       struct syms_room *room);

/* What was read ahead, which is the caller's then. False: nothing was, for lack of room. */
bool syms_ahead_take(struct syms_ahead *ahead, struct background *background,
		     struct elfsyms **syms);

/* Waits for the chore and frees what it has read; they may be asked for anew. */
void syms_ahead_drop(struct syms_ahead *ahead, struct background *background);

#endif
