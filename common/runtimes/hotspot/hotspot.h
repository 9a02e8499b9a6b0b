/* SPDX-License-Identifier: GPL-2.0-only */
/* HotSpot, the virtual machine of OpenJDK, as a runtime. */
#ifndef HOTSPOT_H
#define HOTSPOT_H

#include "runtimes/hotspot/vm.h"
#include "runtimes/runtime.h"

extern const struct runtime_code hotspot_code;

/* Adds the rules of a process's stubs, in ascending order of addresses. */
void hotspot_stubs_visit(const struct hotspot_layout *layout, pid_t pid,
			 const struct runtime_rows *rows);

#endif
