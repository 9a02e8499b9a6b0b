/* SPDX-License-Identifier: GPL-2.0-only */
/* Declares the runtime of tiles; see abi/tiles.h. */
#ifndef TILES_H
#define TILES_H

#include "runtimes/runtime.h"

extern const struct runtime_code tiles_code;

#endif
