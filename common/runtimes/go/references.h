/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the global variables that a function's code refers to: on x86-64 by offsets from the
 * instruction pointer (Intel SDM, volume 2, chapter 2.2.1.6), on arm64 by pairs of instructions
 * that begin with ADRP (Arm ARM, C6.2). Code is read from the file, which is hostile: any bytes are
 * safe, and at most GO_CODE_MAX bytes of a function are read.
 */
#ifndef GO_REFERENCES_H
#define GO_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/gopclntab.h"

#define GO_CODE_MAX	  (64u << 10)
#define GO_REFERENCES_MAX 256

struct go_reference {
	uint64_t vaddr; /* ELF virtual address of the variable */
	uint8_t bytes;	/* size of the access; 0: only the address is taken */
	bool is_store;
};

struct go_references {
	struct go_reference items[GO_REFERENCES_MAX];
	size_t n;
};

/* Finds a function's references, at most GO_REFERENCES_MAX. Unreadable code has none. */
void go_references_find(struct go_references *refs, const struct elf64 *elf,
			const struct go_func *f);

/* Returns true if the function accesses `bytes` bytes at vaddr. */
bool go_references_access(const struct go_references *refs, uint64_t vaddr, uint8_t bytes);

#endif
