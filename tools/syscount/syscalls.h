/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of system calls by number, for the native interface and the 32-bit one (x86-64: i386), and
 * of errors. They come from the system's headers at build time; calls that are newer than the
 * headers, and errors that are internal to the kernel, from short lists.
 */
#ifndef SYSCALLS_H
#define SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/call_record.h"

/* Numbers that stand for no call. */
#define SYSCALL_NONE (-2)

/* Returns the name; NULL if the number is unknown. */
const char *syscall_name(enum call_abi abi, int32_t number);

/* Returns the printed name, in buf: "read", "read (i386)", "[467]", "[467] (i386)". */
char *syscall_label(char *buf, size_t size, enum call_abi abi, int32_t number);

/* Returns the number of a name; SYSCALL_NONE where that interface has no such call. */
int32_t syscall_number(enum call_abi abi, const char *name);

/* Prints all native names in four columns, sorted, as BCC's syscount -l prints them. */
void syscall_print_list(FILE *f);

/* Returns the printed name, in buf: "ENOENT", "[600]". */
char *errname_label(char *buf, size_t size, uint32_t error);

/* Reads a name or a number between 1 and 4095; what: the option. 0, or -EINVAL, printed. */
int errname_parse(const char *what, const char *text, uint32_t *error);

/* Returns true for ERESTART...: a signal has interrupted the call, which begins again. */
bool errname_is_restart(uint32_t error);

#endif
