/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind rules of HotSpot's stubs: code made at start, in assembly, without a description. Copying
 * arrays, comparing strings and cryptography run there.
 */
#ifndef HOTSPOT_STUBS_H
#define HOTSPOT_STUBS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/hotspot/vm.h"
#include "runtimes/runtime.h"

/* Adds the rules of a process's stubs, in ascending order of addresses. */
void hotspot_stubs_visit(const struct hotspot_layout *layout, pid_t pid,
			 const struct runtime_rows *rows);

#endif
