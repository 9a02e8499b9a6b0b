/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between Go releases, in the runtime's data: the only place that knows them. */
#ifndef GO_LAYOUT_H
#define GO_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Layout of the heap profile (src/runtime/mprof.go of the Go release). */
struct go_heap_layout {
	/* words of a memRecordCycle: allocs, frees, and up to Go 1.26 their bytes */
	unsigned int count_words;
	/* the number of collections is shifted by this: bit 0 is set if the profile is flushed */
	unsigned int cycle_shift;
};

/* Returns false for releases whose layout is unknown. release: 24 for Go 1.24. */
bool go_heap_layout(struct go_heap_layout *layout, unsigned int release);

/* Offsets in struct g (src/runtime/runtime2.go), in bytes. stack.lo is at 0, stack.hi at 8. */
struct go_g_layout {
	uint16_t bytes; /* size of the part that is read: up to labels */
	uint16_t sched_sp, sched_pc, sched_g, sched_bp;
	uint16_t syscall_sp, syscall_pc;
	uint16_t status, goid, waitsince, waitreason, startpc;
	/* a member counts how often the goroutine stopped running: equal bytes, equal stack */
	bool counts_runs;
};

/* Returns NULL for releases whose layout is unknown. */
const struct go_g_layout *go_g_layout(unsigned int release);

#endif
