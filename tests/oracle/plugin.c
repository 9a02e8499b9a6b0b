// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library that is loaded and unloaded again and again: of functions that call each other through
 * PLT entries, with vectors on the stack, so that the dynamic linker has registers to save.
 * PLUGIN_BYTES moves the functions, so that two such libraries at one address differ.
 */
#include <string.h>

#ifndef PLUGIN_BYTES
#define PLUGIN_BYTES 64
#endif

typedef long plugin_call(long x);

long plugin_run(plugin_call *call, long x);
long plugin_padding(long x);
long plugin_inner(plugin_call *call, long x, double y);
long plugin_outer(plugin_call *call, long x, double y);

long plugin_padding(long x)
{
	char room[PLUGIN_BYTES];

	memset(room, (int)x, sizeof(room));
	__asm__ volatile(".fill %c1, 1, 0x90" : : "r"(room), "i"(PLUGIN_BYTES) : "memory");
	return room[x & (PLUGIN_BYTES - 1)];
}

long plugin_inner(plugin_call *call, long x, double y)
{
	double lanes[4] __attribute__((aligned(32))) = { y, y * 2, y * 3, y * 4 };
	char room[PLUGIN_BYTES];

	__asm__ volatile("" : : "r"(lanes), "r"(room) : "memory");
	return call(x) + (long)lanes[x & 3] + plugin_padding(x);
}

long plugin_outer(plugin_call *call, long x, double y)
{
	return plugin_inner(call, x + 1, y * 1.5) + 1;
}

long plugin_run(plugin_call *call, long x)
{
	return plugin_outer(call, x, (double)x) + plugin_inner(call, x, 2.0);
}
