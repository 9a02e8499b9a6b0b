/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The places that stacks consist of, each once, however many stacks it is in, with its frames:
 * names are looked up once for each place, file by file, when they are asked for.
 */
#ifndef PLACES_H
#define PLACES_H

#include <stddef.h>

#include "output/frames.h"
#include "stacks/place.h"

struct kernelnames;
struct places;

struct known_place {
	struct hashlink link;
	struct place place;
	uint32_t n_users;
	uint16_t n_frames;
	bool is_own;			   /* a frame of the tracer's own BPF programs */
	bool is_unanswered;		   /* the kernel was asked and failed: ask again */
	const struct frame *const *frames; /* leaf first; NULL: not asked for yet */
};

/* usyms stays the caller's, and outlives this. with_addresses: frames carry their address. */
struct places *places_new(struct usyms *usyms, bool with_addresses);
void places_free(struct places *places);

/* See stackdefs.h. */
void places_set_kernelnames(struct places *places, struct kernelnames *names);
void places_set_own(struct places *places, uint64_t *programs, size_t n);

struct frame_table *places_frame_table(struct places *places);

/* Returns the known one that is equal, for one more user. */
struct known_place *places_get(struct places *places, const struct place *place);
void places_release(struct places *places, struct known_place *known);

/* Looks up all that are new; see stackdefs.h. */
void places_look_up(struct places *places, void (*meanwhile)(void *arg), void *arg);

/*
 * Looks up locations in files that are about to be released (usyms_release_files()), and caches
 * their names.
 */
void places_look_up_leaving(struct places *places);

/* Makes sure that it has its frames, which it keeps until the report ends or later. */
void place_look_up(struct places *places, struct known_place *known);

/* A report has been written: code that was made at run time may have other names in the next. */
void places_end_report(struct places *places);

/* usyms_keep() for all of them. */
void places_keep(struct places *places);

#endif
