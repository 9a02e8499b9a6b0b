/* SPDX-License-Identifier: GPL-2.0-only */
/* Another process's memory, by process_vm_readv(2). */
#ifndef PEEK_H
#define PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PEEK_MAX_BYTES (64u << 10)

/*
 * Reads size bytes, at most PEEK_MAX_BYTES, of a process, by its id or that of any of its threads.
 * Returns how many could be read: up to a page that isn't there; 0 also without the privilege.
 */
size_t peek(pid_t pid, uint64_t addr, void *to, size_t size);

/* Returns true if all of it could be read. */
static inline bool peek_all(pid_t pid, uint64_t addr, void *to, size_t size)
{
	return peek(pid, addr, to, size) == size;
}

#endif
