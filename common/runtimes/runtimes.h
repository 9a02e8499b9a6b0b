/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The known managed runtimes: how they are recognised, which of them have frames that are walked,
 * and the options that give generated code complete stacks and names (doc/runtimes.md).
 */
#ifndef RUNTIMES_H
#define RUNTIMES_H

#include <stddef.h>

#include "process/maps.h"
#include "runtimes/runtime.h"

/*
 * Returns the runtime of a process, by the files that it executes; NULL: no known one. A file
 * belongs to a runtime if its base name is one of the runtime's, also with a version appended
 * ("libnode.so.108", "php8.2").
 */
const struct runtime *runtime_find(const struct maps *maps);

/* Writes an advice with the pid in place of "PID"; pid 0: several processes, "PID" stays. */
void runtime_advice(char *text, size_t size, const char *advice, pid_t pid);

/* Returns the runtime that the file is, maybe a refused version; NULL: not a runtime's file. */
struct runtime_file *runtime_recognise(const struct elf64 *elf);

/*
 * Returns the size of struct pthread, which glibc exports for debuggers; 0: the file does not
 * export it.
 */
uint32_t runtime_thread_bytes(const struct elf64 *elf);

/* Returns the code of a kind; NULL: no such kind. */
const struct runtime_code *runtime_code_of(uint32_t kind);

/* Returns true for the native function in whose place a runtime's functions are shown. */
bool runtime_is_interpreter(const char *function);

/* Returns the names of the runtimes whose frames are walked. */
const char *runtime_walked_names(void);

#endif
