/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind rules of HotSpot's stubs: code made at start, in assembly, without a description. Copying
 * arrays, comparing strings and cryptography run there.
 */
#ifndef HOTSPOT_STUBS_H
#define HOTSPOT_STUBS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/hotspot/vm.h"
#include "runtimes/runtime.h"

/*
 * Derives rules from the instructions of one stub's code, or of several. Code begins at its first
 * byte, and, if has_several, after each path's end, if no other code leads there. begins_framed: at
 * the first byte, rbp already points to a frame. has_frame: instructions that align the stack
 * change nothing, since it is aligned. Calls add() with ascending offsets; UNWIND_GAP where the
 * state of the stack is unknown.
 */
struct hotspot_stub {
	const uint8_t *code;
	size_t bytes;
	bool has_several, begins_framed, has_frame;
};

void hotspot_stub_rules(const struct hotspot_stub *stub,
			void (*add)(size_t offset, const struct unwind_rule *rule, void *arg),
			void *arg);

/* Adds the rules of a process's stubs, in ascending order of addresses. */
void hotspot_stubs_visit(const struct hotspot_layout *layout, pid_t pid,
			 const struct runtime_rows *rows);

#endif
