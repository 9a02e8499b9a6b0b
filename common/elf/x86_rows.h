/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Derives unwind rules of x86-64 code from its instructions: of stubs that virtual machines make,
 * of functions written in assembly, of libraries built without unwind information, and of the
 * compiler's start files.
 */
#ifndef X86_ROWS_H
#define X86_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind_rule.h"

/*
 * Code. It begins at its first byte, and, if has_several, after each path's end, if no other code
 * leads there. begins_framed: at the first byte, rbp already points to a frame. has_frame:
 * instructions that align the stack change nothing, since it is aligned.
 */
struct x86_code {
	const uint8_t *code;
	size_t bytes;
	bool has_several, begins_framed, has_frame;
	const uint32_t
		*entries; /* offsets of functions: these and their callees alone are followed */
	size_t n_entries;
	bool first_is_guess; /* the first entry may be data */
};

/* Returns the length of the padding between functions with which the code begins. */
size_t x86_padding(const uint8_t *code, size_t bytes);

/* Calls add() with ascending offsets; UNWIND_GAP where the state of the stack is unknown. */
void x86_rows_derive(const struct x86_code *in,
		     void (*add)(size_t offset, const struct unwind_rule *rule, void *arg),
		     void *arg);

#endif
