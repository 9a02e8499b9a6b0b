/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of system calls by number, of the kernel's native interface and of the 32-bit one that runs
 * beside it (x86-64: i386). They come from the kernel's headers at build time, and for calls that
 * are newer than the headers from a short list.
 */
#ifndef SYSCALLS_H
#define SYSCALLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/call_record.h"

/* Numbers that stand for no call. */
#define SYSCALL_NONE (-2)

/* NULL if the number is unknown. */
const char *syscall_name(enum call_abi abi, int32_t number);

/* Returns the printed name, in buf: "read", "read (i386)", "[467]", "[467] (i386)". */
char *syscall_label(char *buf, size_t size, enum call_abi abi, int32_t number);

/* Returns the number of a name; SYSCALL_NONE where that interface has no such call. */
int32_t syscall_number(enum call_abi abi, const char *name);

/* Prints all native names in four columns, sorted, as BCC's syscount -l prints them. */
void syscall_print_list(FILE *f);

#endif
