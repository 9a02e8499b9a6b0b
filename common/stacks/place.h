/* SPDX-License-Identifier: GPL-2.0-only */
/* Location of a frame: of a native one in which file, of a Python one in which function. */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/usyms.h"

struct python_function;

struct place {
	struct location location; /* of a kernel address, without dso */
	bool is_kernel;
	bool is_return;
	bool is_made;			/* at run time, by a runtime that is known */
	uint32_t line;			/* of a Python frame, if asked for; 0: none */
	struct python_function *python; /* NULL: a native frame */
};

#endif
