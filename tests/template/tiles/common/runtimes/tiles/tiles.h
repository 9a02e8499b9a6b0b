/* SPDX-License-Identifier: GPL-2.0-only */
/* Tiles as a runtime. */
#ifndef TILES_H
#define TILES_H

#include "runtimes/runtime.h"

extern const struct runtime_code tiles_code;

#endif
