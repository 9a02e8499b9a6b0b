/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What hand-written Go assembly does with its stack, by its instructions (x86-64): the tables say
 * only how large frames are. The Go runtime has two kinds of stacks, the scheduler's and the
 * goroutines', and moves between them in a few functions. Where those keep what they come back by,
 * in struct g, m and gobuf, differs between releases and is read from the code that comes back: no
 * release has to be known.
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
 * Where rsp is written in another way than by pushing and adding: first and last are offsets behind
 * the first and the last such instruction. False: nowhere.
 */
bool go_code_moves_stack(const struct go_code *code, size_t *first, size_t *last);

/*
 * The first instruction from offset from on, before end, that saves rbp at a place above rsp:
 * behind is the offset after it. False: there is none.
 */
bool go_code_saves_bp(const struct go_code *code, size_t from, size_t end, int32_t *place,
		      size_t *behind);

/* A push of rbp ends there. */
bool go_code_pushes_bp(const struct go_code *code, size_t end);

/* Whether rsp is copied to rbp in [from, end). */
bool go_code_takes_sp(const struct go_code *code, size_t from, size_t end);

/*
 * The rule that leads from the scheduler's stack to the goroutine's, without bp_kind: by the code
 * of runtime.systemstack and runtime.morestack. UNWIND_BAD where it isn't understood.
 */
struct unwind_rule go_code_find_stack(const struct go_code *systemstack,
				      const struct go_code *morestack);

/* The same around C code, by that of runtime.asmcgocall before Go 1.21. */
struct unwind_rule go_code_find_call(const struct go_code *asmcgocall);

#endif
