/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The locations that stacks consist of, each once, with its frames: names are looked up once per
 * location, file by file, on demand.
 */
#ifndef PLACES_H
#define PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/frames.h"
#include "symbols/usyms.h"

/* Location of a frame: of a native frame in a file, of a runtime's frame in a function. */

struct runtime_function;

struct place {
	struct location location; /* a kernel address, without dso */
	bool is_kernel;
	bool is_return;
	bool is_made;			   /* code made by a known runtime */
	uint32_t line;			   /* line of a runtime's frame, if requested; 0: none */
	struct runtime_function *function; /* NULL: a native frame */
};

struct kernelnames;
struct places;

struct known_place {
	struct hashlink link;
	struct place place;
	uint32_t n_users;
	uint16_t n_frames;
	bool is_own;			   /* a frame of the tracer's own BPF programs */
	bool is_unanswered;		   /* looking it up in the kernel failed: try again */
	const struct frame *const *frames; /* leaf first; NULL: not requested yet */
};

/* usyms stays the caller's, and outlives this. with_addresses: frames carry their address. */
struct places *places_new(struct usyms *usyms, bool with_addresses);
void places_free(struct places *places);

/* See resolver.h. */
void places_set_kernelnames(struct places *places, struct kernelnames *names);
void places_set_own(struct places *places, uint64_t *programs, size_t n);

struct frame_table *places_frame_table(struct places *places);

/* Returns the equal known location, for one more user. */
struct known_place *places_get(struct places *places, const struct place *place);
void places_release(struct places *places, struct known_place *known);

/* Looks up all new locations; see resolver.h. */
void places_look_up(struct places *places, void (*meanwhile)(void *arg), void *arg);

/*
 * Looks up locations in files that are about to be released (usyms_age()), and caches their names.
 */
void places_look_up_leaving(struct places *places);

/* Makes sure that it has its frames, which stay at least until the report ends. */
void place_look_up(struct places *places, struct known_place *known);

/* Ends a report: JIT code may have other names in the next one. */
void places_end_report(struct places *places);

#endif
