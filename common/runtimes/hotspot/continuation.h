/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds what the walk needs where a virtual thread's frames are partly in the heap (JDK 21 and
 * later): the stubs that fetch them, and the way to the carrier's frame.
 */
#ifndef HOTSPOT_CONTINUATION_H
#define HOTSPOT_CONTINUATION_H

#include <stdint.h>
#include <sys/types.h>

#include "runtimes/hotspot/vm.h"

#define HOTSPOT_CONTINUATION "(continuation" /* part of the stubs' name */

/* Adds all of this to a process's layout, or nothing if the machine has not made all of it yet. */
void hotspot_continuation_find(const struct hotspot_vm *vm, pid_t pid, uint64_t bias,
			       struct hotspot_layout *layout);

#endif
