/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Libraries that are loaded on demand. Programs that are linked with shared libraries ask the
 * linker for this module (-u dynlib_find); static ones don't have it, as dlopen(3) would need the
 * very same libc at run time.
 */
#ifndef DYNLIB_H
#define DYNLIB_H

/* Finds a function of a library, which stays loaded; NULL: no such function or library. */
void *dynlib_find(const char *library, const char *name);

#endif
