/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The managed runtimes that are known: how they are recognised, whose frames are walked, and the
 * settings that give code made at run time complete stacks and names. See doc/runtimes.md for each.
 */
#ifndef RUNTIMES_H
#define RUNTIMES_H

#include <stddef.h>

#include "process/maps.h"
#include "runtimes/runtime.h"

/*
 * Returns the runtime of a process, by the files that it executes; NULL: none that is known. A file
 * is one of a runtime if its path's last component is a name, or goes on with a version
 * ("libnode.so.108", "php8.2").
 */
const struct runtime *runtime_find(const struct maps *maps);

/* Writes an advice with the pid in it; 0: of several processes, so "PID" stays. */
void runtime_advice(char *text, size_t size, const char *advice, pid_t pid);

/* Returns the file as a runtime's whose frames can be walked, or refused; NULL: it is not one. */
struct runtime_file *runtime_recognise(const struct elf64 *elf);

/*
 * Returns the size of struct pthread, as the C library (glibc) exports it for debuggers; 0: it
 * doesn't.
 */
uint32_t runtime_thread_bytes(const struct elf64 *elf);

/* NULL: no such kind. */
const struct runtime_code *runtime_code_of(uint32_t kind);

/* Returns true for the native function in whose place a runtime's functions are shown. */
bool runtime_is_interpreter(const char *function);

/* Returns the names of the runtimes whose frames are walked. */
const char *runtime_walked_names(void);

#endif
