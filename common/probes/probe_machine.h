/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per-architecture queries about instructions, for the search of a probe's location
 * (probe_place.h). Both are built everywhere, so that tests of one run on the other.
 */
#ifndef PROBE_MACHINE_H
#define PROBE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/probe_kind.h"

/* Effect of an instruction on registers, which are numbered as in machine code. */
struct probe_effect {
	uint32_t writes;	    /* as bits */
	int copied_from, copied_to; /* source and target of a 64-bit move; -1: none */
};

struct probe_step {
	size_t bytes;
	enum probe_kind kind;
	bool is_skippable; /* the effect is known: it only writes these registers */
	struct probe_effect effect;
};

struct probe_machine {
	uint8_t args[PROBE_MAX_ARGS]; /* the calling convention's registers */
	uint32_t return_regs; /* registers by which the kernel finds the return address, as bits */

	/* Reads the instruction at code. False: it is unknown, or not all of it is there. */
	bool (*read)(struct probe_step *step, const uint8_t *code, size_t size);

	/* The offset from which on the entry is part of a loop; at most PROBE_MAX_OFFSET. */
	size_t (*find_limit)(const uint8_t *code, size_t size);
};

/*
 * For find_limit: notes a jump from `from` on by `relative` bytes. A target after the first byte
 * makes everything from there on a loop; a jump to the first byte counts as a new call.
 */
static inline void probe_note_target(size_t *limit, size_t from, int32_t relative)
{
	int64_t target = (int64_t)from + relative;

	if (target > 0 && (uint64_t)target < *limit)
		*limit = (size_t)target;
}

extern const struct probe_machine probe_machine_x86, probe_machine_arm64;

#endif
