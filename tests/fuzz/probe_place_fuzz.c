// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places in arbitrary code. What is chosen must be the beginning of an instruction that lies in the
 * code, and no worse than the first one.
 */
#include <stdlib.h>

#include "elf/x86_decode.h"
#include "probes/probe_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool is_boundary(const uint8_t *code, size_t size, size_t offset)
{
	struct x86_insn insn;
	size_t at = 0;

	while (at < offset && x86_decode(&insn, code + at, size - at))
		at += insn.bytes;
	return at == offset && (!offset || x86_decode(&insn, code + at, size - at));
}

static void check(const struct probe_place *place, const uint8_t *code, size_t size,
		  const struct probe_wish *wish)
{
	if (place->offset >= PROBE_MAX_OFFSET || !is_boundary(code, size, place->offset) ||
	    place->kind >= PROBE_KINDS || (place->offset && place->kind == PROBE_STEP) ||
	    (place->is_moved && !wish->may_move_args))
		abort();
	for (unsigned int i = 0; i < PROBE_MAX_ARGS; i++)
		if (place->args[i] > 15)
			abort();
}

/* The first byte is the wish, the others are code. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct probe_wish wish = { 0 };
	struct probe_place place;

	if (!size)
		return 0;
	wish.n_args = bytes[0] & 7;
	wish.wants_return = bytes[0] & 8;
	wish.may_move_args = bytes[0] & 16;
	probe_place_find_x86(&place, &wish, bytes + 1, size - 1);
	check(&place, bytes + 1, size - 1, &wish);
	return 0;
}
