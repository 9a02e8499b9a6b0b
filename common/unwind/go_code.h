/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Go's frames on an architecture, and the effect of hand-written Go assembly on the stack, derived
 * from its instructions: Go's tables only contain the sizes of frames. The Go runtime has two kinds
 * of stacks, the scheduler's and the goroutines', and switches between them in a few functions. To
 * return, these use fields of struct g, m and gobuf whose offsets differ between releases; the
 * offsets are read from that code, so no table of releases is needed.
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
 * Location at which a function saves its caller's frame pointer; on arm64 the return address
 * follows it. All zero: not saved.
 */
struct go_saved {
	int32_t bp_off;	     /* offset from the CFA, in bytes */
	int32_t frame_bytes; /* size of the frame at that point */
	size_t from;	     /* offset in the code after the saving instruction */
};

struct go_machine {
	/*
	 * Returns the rule for a frame size. bp_off: as in struct go_saved; 0: the frame pointer is
	 * still in its register. is_injected: the function was made to look as if the interrupted
	 * code had called it.
	 */
	struct unwind_rule (*frame_rule)(int32_t frame_bytes, bool is_injected, int32_t bp_off);

	/* returns bp_off of compiled code */
	int32_t (*usual_bp_off)(int32_t frame_bytes);

	/*
	 * Finds where hand-written assembly saves the frame pointer, in [start, end), where the
	 * frame has that size. False: not found.
	 */
	bool (*find_saved)(const struct go_code *code, size_t start, size_t end,
			   int32_t frame_bytes, struct go_saved *saved);

	/*
	 * Finds instructions that set the stack pointer other than by addition: first and last are
	 * the offsets after the first and the last of them. False: none.
	 */
	bool (*moves_stack)(const struct go_code *code, size_t *first, size_t *last);

	/*
	 * Finds the rule for the way back to the caller's stack, for code that calls on the other
	 * stack. away: offset where moves_stack() found the first switch.
	 */
	struct unwind_rule (*find_switch)(const struct go_code *code, const struct go_saved *saved,
					  size_t away);

	/*
	 * Returns the rule that leads from the scheduler's stack to the goroutine's, without
	 * bp_kind, from the code of runtime.systemstack and runtime.morestack. UNWIND_BAD: code not
	 * recognized.
	 */
	struct unwind_rule (*find_stack)(const struct go_code *systemstack,
					 const struct go_code *morestack);
};

extern const struct go_machine go_machine_x86, go_machine_arm64;

#endif
