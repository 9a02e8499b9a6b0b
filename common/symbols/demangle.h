/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names as their programmers wrote them: C++ (Itanium ABI) and Rust (legacy and v0), by libiberty.
 */
#ifndef DEMANGLE_H
#define DEMANGLE_H

/*
 * Returns the demangled name, freed with free(); NULL if the name is not mangled, or not demangled
 * within bounds: 64 KiB of text, and the depth that libiberty allows. "@plt" stays at its end.
 */
char *demangle(const char *name);

#endif
