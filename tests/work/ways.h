/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Distinct stacks: each call on the way to leaf(), which the program defines, is left() or right(),
 * by the bits of a number.
 */
#ifndef WAYS_H
#define WAYS_H

#include "work.h"

static void leaf(void);
static void left(uint64_t way, int levels);
static void right(uint64_t way, int levels);

/* Calls down `levels` levels, then leaf(). */
WORK_FUNCTION void step(uint64_t way, int levels)
{
	if (!levels)
		leaf();
	else if (way & 1)
		left(way >> 1, levels - 1);
	else
		right(way >> 1, levels - 1);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void left(uint64_t way, int levels)
{
	step(way, levels);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void right(uint64_t way, int levels)
{
	step(way, levels);
	WORK_KEEP_FRAME();
}

#endif
