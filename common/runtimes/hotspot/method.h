/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a process's methods: names, source files, lines. */
#ifndef HOTSPOT_METHOD_H
#define HOTSPOT_METHOD_H

#include <stdint.h>
#include <sys/types.h>

#include "runtimes/hotspot/vm.h"

/* Returns a method's qualified name, freed with free(); NULL: not a method. */
char *hotspot_method_name(const struct hotspot_layout *layout, pid_t pid, uint64_t method);

/* Fills in a method's names as BPF does. False: not a method. */
bool hotspot_method_define(const struct hotspot_layout *layout, pid_t pid, uint64_t method,
			   struct hotspot_def *def);

/* Returns the name of its source file, freed with free(); NULL: unknown. */
char *hotspot_method_file(const struct hotspot_vm *vm, pid_t pid, uint64_t method);

/* Returns the line of a position in its bytecode; 0: unknown. */
uint32_t hotspot_method_line(const struct hotspot_vm *vm, pid_t pid, uint64_t method, int32_t bci);

/*
 * Reads a number (UNSIGNED5, unsigned5.hpp) of up to five digits to base 64, and moves *at to its
 * end, at most n. is_sparse: no byte is 0.
 */
uint32_t hotspot_number(const uint8_t *bytes, size_t n, size_t *at, bool is_sparse);

/*
 * Joins the names of a class and of a method, as in the class file, to "package.Class.method".
 * Names of hidden classes lose their address. Lengths beyond the arrays of struct hotspot_def mean
 * that a name was cut off, which "..." shows. Freed with free().
 */
char *hotspot_join_name(const char *class_name, size_t class_bytes, const char *method_name,
			size_t method_bytes);

#endif
