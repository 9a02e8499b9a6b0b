/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machine code of V8 by address, and the functions that a call in it stands for: the function that
 * was compiled, and those inlined there. They are found as V8 itself would rebuild the frames if it
 * had to leave the code at this call:
 *
 *	return address -> table of calls after the instructions -> number of a state
 *	-> deoptimization data -> translation -> frames of the interpreter
 */
#ifndef V8_CODE_H
#define V8_CODE_H

#include "runtimes/v8/heap.h"

#define V8_INLINED_MAX 32

/* A function with a position in it. */
struct v8_frame {
	uint64_t shared;  /* SharedFunctionInfo */
	int32_t bytecode; /* offset of the bytecode that runs; -1: unknown */
};

struct v8_machine_code {
	uint64_t object; /* Code, tagged */
	uint64_t start;	 /* address of the first instruction */
	uint64_t shared; /* SharedFunctionInfo of optimized code; 0: other code */
	uint32_t size;
	uint8_t kind;
};

/* Finds the code that contains an address, for the thread that runs it. False: no such code. */
bool v8_code_find(struct v8_heap *heap, uint64_t owner, uint64_t pc, struct v8_machine_code *code);

/* Returns true if a Code's instructions still begin at `start`. */
bool v8_code_is_at(const struct v8_heap *heap, uint64_t object, uint64_t start);

/*
 * Finds the functions at a return address in optimized code, innermost first; the last one is the
 * code's own. Returns their number, at most V8_INLINED_MAX; 0: unknown.
 */
size_t v8_code_frames(const struct v8_heap *heap, const struct v8_machine_code *code, uint64_t pc,
		      struct v8_frame *to);

/*
 * Returns the position in the source of a bytecode, by the table of its BytecodeArray; -1: unknown,
 * since V8 makes the table on demand.
 */
int32_t v8_code_position(const struct v8_heap *heap, uint64_t bytecodes, int32_t offset);

/* Returns the BytecodeArray of a function; 0: none. */
uint64_t v8_code_bytecodes(const struct v8_heap *heap, uint64_t shared);

#endif
