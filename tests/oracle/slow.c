// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linked into oracle_slow: between the look at a process's mappings and what is published of it,
 * 5 ms pass, in which a library may take the place of another one.
 */
#include <unistd.h>

#include "unwind/unwind_procs.h"

#define PAUSE_US 5000

/* As "ld --wrap" names them. NOLINTBEGIN(bugprone-reserved-identifier) */
bool __real_unwind_procs_update(struct unwind_procs *procs, pid_t pid, uint32_t change,
				struct unwind_process *slice);
bool __wrap_unwind_procs_update(struct unwind_procs *procs, pid_t pid, uint32_t change,
				struct unwind_process *slice);

bool __wrap_unwind_procs_update(struct unwind_procs *procs, pid_t pid, uint32_t change,
				struct unwind_process *slice)
{
	bool done = __real_unwind_procs_update(procs, pid, change, slice);

	usleep(PAUSE_US);
	return done;
}
/* NOLINTEND(bugprone-reserved-identifier) */
