/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of system calls, for the native and the 32-bit interface (x86-64: i386), and of errors:
 * from the system's headers at build time, and from short lists of newer calls and of the kernel's
 * internal errors.
 */
#ifndef SYSCALLS_H
#define SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/call_record.h"

/* Not the number of a system call. */
#define SYSCALL_NONE (-2)

/* Returns the name; NULL if the number is unknown. */
const char *syscall_name(enum call_abi abi, int32_t number);

/* Returns the printed name, in buf: "read", "read (i386)", "[467]", "[467] (i386)". */
char *syscall_label(char *buf, size_t size, enum call_abi abi, int32_t number);

/* Returns the number of a name; SYSCALL_NONE: the interface has no such call. */
int32_t syscall_number(enum call_abi abi, const char *name);

/* Prints all native names, sorted, in four columns, in the format of BCC's syscount -l. */
void syscall_print_list(FILE *f);

/* Returns the printed name, in buf: "ENOENT", "[600]". */
char *errname_label(char *buf, size_t size, uint32_t error);

/* Parses an error's name or number (1 to 4095); what: option. Returns 0, or -EINVAL, printed. */
int errname_parse(const char *what, const char *text, uint32_t *error);

/* Returns true for ERESTART...: a signal interrupted the call, which may be restarted. */
bool errname_is_restart(uint32_t error);

#endif
