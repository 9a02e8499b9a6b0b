// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols of mapped files; see file_syms.h. Of its owner's data the background only touches struct
 * syms_ahead, and reads what stays as it is.
 */
#include <stddef.h>

#include "base/container.h"
#include "process/files.h"
#include "symbols/elfsyms.h"
#include "symbols/file_syms.h"

struct elfsyms *file_syms_read(const struct file *file, const struct debug_place *place)
{
	struct elfsyms *syms = file_is_unchanged(file) ? elfsyms_load(file->fd, place) : NULL;

	if (!syms || file_is_unchanged(file))
		return syms;
	elfsyms_free(syms);
	return NULL;
}

/* In the background. Symbols beyond the memory limit are read on demand. */
static void read_ahead(struct job *job)
{
	struct syms_ahead *ahead = container_of(job, struct syms_ahead, job);
	struct syms_room *room = ahead->room;

	if (__atomic_load_n(&room->bytes, __ATOMIC_RELAXED) >= room->max_bytes)
		return;
	ahead->syms = file_syms_read(ahead->file, ahead->place);
	ahead->bytes = ahead->syms ? elfsyms_bytes(ahead->syms) : 0;
	ahead->is_tried = true;
	__atomic_fetch_add(&room->bytes, ahead->bytes, __ATOMIC_RELAXED);
}

void syms_ahead_expect(struct syms_ahead *ahead, struct background *background,
		       const struct file *file, const struct debug_place *place,
		       struct syms_room *room)
{
	if (ahead->is_expected)
		return;
	ahead->file = file;
	ahead->place = place;
	ahead->room = room;
	ahead->is_expected = true;
	background_add(background, &ahead->job, read_ahead);
}

bool syms_ahead_take(struct syms_ahead *ahead, struct background *background, struct elfsyms **syms)
{
	if (ahead->is_expected)
		background_finish(background, &ahead->job);
	if (!ahead->is_tried)
		return false;
	*syms = ahead->syms;
	__atomic_fetch_sub(&ahead->room->bytes, ahead->bytes, __ATOMIC_RELAXED);
	ahead->syms = NULL;
	ahead->is_tried = false;
	return true;
}

void syms_ahead_drop(struct syms_ahead *ahead, struct background *background)
{
	struct elfsyms *syms;

	if (syms_ahead_take(ahead, background, &syms))
		elfsyms_free(syms);
	*ahead = (struct syms_ahead){ .is_expected = false };
}
