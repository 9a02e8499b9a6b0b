/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Go's frames on an architecture, and the effect of hand-written Go assembly on its stack, by its
 * instructions: the tables only have the sizes of frames. The Go runtime has two kinds of stacks,
 * the scheduler's and the goroutines', and moves between them in a few functions. The fields of
 * struct g, m and gobuf by which they return differ between releases and are read from the code
 * that returns: no release has to be known.
 */
#ifndef GO_CODE_H
#define GO_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind_rule.h"

struct go_code {
	const uint8_t *bytes;
	size_t size;
};

/*
 * Location at which a function saves its caller's frame pointer, on arm64 with the return address
 * after it. All zero: nowhere.
 */
struct go_saved {
	int32_t bp_off;	     /* from the CFA */
	int32_t frame_bytes; /* the frame's size there */
	size_t from;	     /* offset in the code from which on it is saved */
};

struct go_machine {
	/*
	 * bp_off: as in struct go_saved; 0: still in registers. Injected: a function that was made
	 * to look as if what was interrupted had called it.
	 */
	struct unwind_rule (*frame_rule)(int32_t frame_bytes, bool is_injected, int32_t bp_off);

	/* For compiled code. */
	int32_t (*usual_bp_off)(int32_t frame_bytes);

	/*
	 * Finds the location in hand-written assembly, in [start, end), where the frame has that
	 * size. False: none.
	 */
	bool (*find_saved)(const struct go_code *code, size_t start, size_t end,
			   int32_t frame_bytes, struct go_saved *saved);

	/*
	 * Finds writes of the stack pointer other than additions: first and last are offsets after
	 * the first and the last such instruction. False: there are none.
	 */
	bool (*moves_stack)(const struct go_code *code, size_t *first, size_t *last);

	/*
	 * Finds the rule for the way back, for code that calls; away: the first of these offsets.
	 */
	struct unwind_rule (*find_switch)(const struct go_code *code, const struct go_saved *saved,
					  size_t away);

	/*
	 * Returns the rule that leads from the scheduler's stack to the goroutine's, without
	 * bp_kind: by the code of runtime.systemstack and runtime.morestack. UNWIND_BAD if it isn't
	 * understood.
	 */
	struct unwind_rule (*find_stack)(const struct go_code *systemstack,
					 const struct go_code *morestack);
};

extern const struct go_machine go_machine_x86, go_machine_arm64;

#endif
