/* SPDX-License-Identifier: GPL-2.0-only */
/* Demangles C++ (Itanium ABI) and Rust (legacy and v0) names, by libiberty. */
#ifndef DEMANGLE_H
#define DEMANGLE_H

/*
 * Returns the demangled name, freed with free(); NULL if the name is not mangled, or if demangling
 * exceeds 64 KiB of text or libiberty's depth limit. A suffix "@plt" is preserved.
 */
char *demangle(const char *name);

#endif
