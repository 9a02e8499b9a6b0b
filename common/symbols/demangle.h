/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names as their programmers wrote them: C++ (Itanium ABI) and Rust (legacy and v0), by libiberty.
 */
#ifndef DEMANGLE_H
#define DEMANGLE_H

/*
 * The name made readable, to be freed; NULL where it is not mangled, or can't be made readable
 * within bounds: 64 KiB of text, and the depth that libiberty allows. "@plt" stays at its end.
 */
char *demangle(const char *name);

#endif
