/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per-architecture queries about instructions, for the search of a probe's location
 * (probe_place.h). Those of both architectures are built everywhere, so that each can be tested on
 * the other architecture.
 */
#ifndef PROBE_MACHINE_H
#define PROBE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/probe_kind.h"

/* Effect of an instruction on registers, which are numbered as in machine code. */
struct probe_effect {
	uint32_t writes;	    /* bit mask of written registers */
	int copied_from, copied_to; /* source and target of a 64-bit move; -1: none */
};

struct probe_step {
	size_t bytes;
	enum probe_kind kind;
	bool is_skippable; /* effect is known, and allows a probe further on */
	struct probe_effect effect;
};

struct probe_machine {
	uint8_t args[PROBE_MAX_ARGS]; /* argument registers of the calling convention */
	uint32_t return_regs; /* bit mask: registers by which the kernel finds the return address */

	/* Decodes the instruction at code. False: unknown or truncated. */
	bool (*read)(struct probe_step *step, const uint8_t *code, size_t size);

	/* Returns the offset at which the entry's first loop begins; at most PROBE_MAX_OFFSET. */
	size_t (*find_limit)(const uint8_t *code, size_t size);
};

/*
 * Lowers find_limit's limit to the target of a jump at from + relative: code from a target on may
 * be a loop. A jump to the first byte counts as a new call.
 */
static inline void probe_note_target(size_t *limit, size_t from, int32_t relative)
{
	int64_t target = (int64_t)from + relative;

	if (target > 0 && (uint64_t)target < *limit)
		*limit = (size_t)target;
}

extern const struct probe_machine probe_machine_x86, probe_machine_arm64;

#endif
