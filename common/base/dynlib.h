/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads shared libraries on demand. Dynamically linked programs pull this module in with the linker
 * option -u dynlib_find; static programs lack it, since dlopen(3) would need the same libc at run
 * time.
 */
#ifndef DYNLIB_H
#define DYNLIB_H

/* Loads a library for good and finds a function in it. NULL: no such function or library. */
void *dynlib_find(const char *library, const char *name);

#endif
