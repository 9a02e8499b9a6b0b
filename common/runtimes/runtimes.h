/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The known managed runtimes: how to recognize them, which of them have their frames walked, and
 * the options that give JIT code complete stacks and names (doc/runtimes.md).
 */
#ifndef RUNTIMES_H
#define RUNTIMES_H

#include <stddef.h>

#include "process/maps.h"
#include "runtimes/runtime.h"

/*
 * Returns the runtime of a process, by the files that it executes; NULL: no known runtime. A file
 * belongs to a runtime if its base name is listed there, also with a version appended
 * ("libnode.so.108", "php8.2").
 */
const struct runtime *runtime_find(const struct maps *maps);

/* Writes advice, with "PID" replaced by the pid; pid 0: several processes, "PID" stays. */
void runtime_advice(char *text, size_t size, const char *advice, pid_t pid);

/*
 * Returns the description of a runtime's file, maybe of an unsupported version (refused); NULL:
 * another file. Freed with free().
 */
struct runtime_file *runtime_recognize(const struct elf64 *elf);

/* Returns the size of struct pthread, as glibc exports it, in bytes; 0: not exported. */
uint32_t runtime_thread_bytes(const struct elf64 *elf);

/* Frees a function that has no users; NULL: does nothing. */
void runtime_function_free(struct runtime_function *function);

/* Returns the functions that walk a kind's frames; NULL: no such kind. */
const struct runtime_code *runtime_code_of(uint32_t kind);

/* Returns true for a native function that a runtime's functions replace in stacks. */
bool runtime_is_interpreter(const char *function);

#endif
