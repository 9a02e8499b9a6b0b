/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tiles, a runtime for tests, on x86-64. A function is a tile of code, which begins with a head:
 * the size of the function's frame, and its name. Here are the layout of a process, the definition
 * of a function, and the state of a walk.
 */
#ifndef ABI_TILES_H
#define ABI_TILES_H

#include "abi/runtime.h"

#define TILES_BYTES	 256
#define TILES_NAME_BYTES 56
#define TILES_MOST_BYTES 4096 /* maximum size of a frame */

struct tiles_head {
	__u64 frame_bytes; /* distance from sp at a call to the caller's stack */
	char name[TILES_NAME_BYTES];
};

/* Code of a process: its program exports this as tiles_code. */
struct tiles_layout {
	__u64 low, high;
};

struct tiles_def {
	struct runtime_def def;
	char name[TILES_NAME_BYTES];
};

/* State of a walk. */
struct tiles_walk {
	struct tiles_head head;
	struct tiles_def def;
};

#endif
