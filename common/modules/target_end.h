/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of what is traced: a run whose processes or threads have all ended has no more to say. */
#ifndef TARGET_END_H
#define TARGET_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/run.h"

/* Some processes, or some threads. */
struct target_end {
	struct run *run;
	bool threads;
	bool follows; /* processes: those in the map filter_tgids, too, that are left in the end */
	size_t n_left;
	struct watched {
		struct target_end *end;
		uint32_t id;
	} * watched, followed;
};

/*
 * Takes those that have ended out of the filter, and ends the loop, with a message, when the last
 * one has. Threads are not watched where the kernel can't (before 6.9). 0 or -errno, printed:
 * -ESRCH if all have ended by now.
 */
int target_end_watch(struct target_end *end, const uint32_t *ids, size_t n);

void target_end_free(struct target_end *end);

#endif
