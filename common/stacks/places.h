/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interned locations of stack frames, with their frames: names are looked up once per location,
 * file by file, on demand.
 */
#ifndef PLACES_H
#define PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/frames.h"
#include "symbols/usyms.h"

#define UNNAMED_CODE "[jit]" /* name of frames of a known runtime's code without a name */

/* Location of a frame: a native frame's is in a file, a runtime frame's in a function. */

struct runtime_function;

struct place {
	struct location location; /* for a kernel frame, dso is NULL, and offset is the address */
	bool is_kernel;
	bool is_return;
	bool is_made;			   /* JIT code of a known runtime */
	bool is_inlined;		   /* a runtime's function inlined into its caller */
	uint32_t line;			   /* line of a runtime's frame, if requested; 0: none */
	struct runtime_function *function; /* held; NULL: a native frame */
};

struct kernelnames;
struct places;

struct known_place {
	struct hashlink link;
	struct place place;
	uint32_t number; /* index for places_at() */
	uint32_t n_users;
	uint16_t n_frames;
	bool is_own;			   /* belongs to one of the tracer's own BPF programs */
	bool is_unanswered;		   /* the kernel query failed: look up again */
	bool may_change;		   /* no name, or another's BPF program: likewise */
	const struct frame *const *frames; /* leaf first; NULL: not looked up yet */
	const struct frame *only_frame;	   /* space for `frames`, since most locations have one */
};

/* Creates a table. usyms: borrowed, must outlive it. with_addresses: frames have their address. */
struct places *places_new(struct usyms *usyms, bool with_addresses);
void places_free(struct places *places);

/* Set the kernel symbol resolver (borrowed, see resolver_options) and own programs (taken over). */
void places_set_kernelnames(struct places *places, struct kernelnames *names);
void places_set_own(struct places *places, uint64_t *programs, size_t n);

struct frame_table *places_frame_table(struct places *places);

/* Returns the interned location equal to place, with one more user. */
struct known_place *places_get(struct places *places, const struct place *place);
void places_release(struct places *places, struct known_place *known);

/* Returns the interned location with that number. */
struct known_place *places_at(const struct places *places, uint32_t number);

/* Looks up all new locations; see resolver_look_up(). */
void places_look_up(struct places *places, void (*meanwhile)(void *arg), void *arg);

/* Looks up new locations in files that are about to be released (usyms_age()). */
void places_look_up_leaving(struct places *places);

/* Looks up a location's frames, unless it has them; they stay until the report ends. */
void place_look_up(struct places *places, struct known_place *known);

/* Ends a report. Drops names that may change before the next one: of JIT code and BPF programs. */
void places_end_report(struct places *places);

#endif
