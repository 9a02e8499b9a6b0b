/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inlined methods of compiled code: HotSpot describes the instructions at which a thread may stop
 * (PcDesc), with the methods that run there and their positions (scopes).
 */
#ifndef HOTSPOT_SCOPES_H
#define HOTSPOT_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/hotspot/blob.h"

struct hotspot_scope {
	uint64_t method;
	int32_t bci; /* position in its bytecode; negative: at its entry, or unknown */
};

/*
 * Fills in the methods that run at an address, innermost first, up to max. Returns their number; 0:
 * unknown, or the method was freed. They are exact after a call of a method; elsewhere those of the
 * first described instruction on the path that takes no conditional branch.
 */
size_t hotspot_scopes_find(const struct hotspot_vm *vm, pid_t pid,
			   const struct hotspot_compiled *compiled, uint64_t pc, bool is_return,
			   struct hotspot_scope *scopes, size_t max);

/* Returns true if the compiled method has not been freed. */
bool hotspot_is_alive(const struct hotspot_vm *vm, pid_t pid,
		      const struct hotspot_compiled *compiled);

#endif
