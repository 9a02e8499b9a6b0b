/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads another process's memory, with process_vm_readv(2). */
#ifndef PEEK_H
#define PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Maximum bytes of one system call; peek() splits longer reads. */
#define PEEK_MAX_BYTES (64u << 10)

/*
 * Reads size bytes. pid: the process or any of its threads. Returns the number of bytes read: fewer
 * if a page is missing; 0 also without the privilege.
 */
size_t peek(pid_t pid, uint64_t addr, void *to, size_t size);

/* A piece of memory to be read. */
struct peek_piece {
	uint64_t addr;
	void *to;
	size_t size; /* not 0 */
	bool is_read;
};

/* Reads many pieces with few system calls, and sets is_read of those that were completely read. */
void peek_pieces(pid_t pid, struct peek_piece *pieces, size_t n);

/* Returns true if all size bytes could be read. */
static inline bool peek_all(pid_t pid, uint64_t addr, void *to, size_t size)
{
	return peek(pid, addr, to, size) == size;
}

/* Returns a number in the process's memory; 0: unreadable. */
static inline uint64_t peek_u64(pid_t pid, uint64_t addr)
{
	uint64_t number;

	return peek_all(pid, addr, &number, sizeof(number)) ? number : 0;
}

static inline uint32_t peek_u32(pid_t pid, uint64_t addr)
{
	uint32_t number;

	return peek_all(pid, addr, &number, sizeof(number)) ? number : 0;
}

static inline uint16_t peek_u16(pid_t pid, uint64_t addr)
{
	uint16_t number;

	return peek_all(pid, addr, &number, sizeof(number)) ? number : 0;
}

#endif
