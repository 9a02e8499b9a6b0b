/* SPDX-License-Identifier: GPL-2.0-only */
/* Runtimes whose frames BPF walks, and the layout of each in a process. */
#ifndef ABI_RUNTIMES_H
#define ABI_RUNTIMES_H

#include "abi/hotspot.h"
#include "abi/python.h"
#include "abi/runtime.h"
#include "abi/v8.h"

/* Each kind is walked by separate BPF code, which is dead code if its bit is not set. */
enum runtime_kind {
	RUNTIME_PYTHON = 1,
	RUNTIME_PYTHON_OLD, /* Python before 3.11 */
	RUNTIME_V8,
	RUNTIME_HOTSPOT,
	RUNTIME_KINDS,
};

#define RUNTIME_BIT(kind) (1U << (kind))
#define RUNTIME_ALL	  (RUNTIME_BIT(RUNTIME_KINDS) - 2)
#define RUNTIME_ON_STACK \
	(RUNTIME_BIT(RUNTIME_V8) | RUNTIME_BIT(RUNTIME_HOTSPOT)) /* their frames are native ones */

/* A process that has a runtime. */
struct runtime_process {
	__u64 serial;	/* id of the process, part of its functions' fingerprints */
	__u64 since_ns; /* time at which BPF got this description */
	__u32 kind;
	struct runtime_table rules; /* unwind table of code made at run time */
	union {
		struct python_layout python;
		struct v8_layout v8;
		struct hotspot_layout hotspot;
	};
};

#endif
