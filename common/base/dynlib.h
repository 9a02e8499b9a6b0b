/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Libraries that are loaded when they are needed. Programs that are linked with shared libraries
 * ask the linker for this module (-u dynlib_find); in a static one it is missing, as dlopen(3)
 * would need the very same libc at run time.
 */
#ifndef DYNLIB_H
#define DYNLIB_H

/* A function of a library, which stays loaded; NULL: no such function or library. */
void *dynlib_find(const char *library, const char *name);

#endif
