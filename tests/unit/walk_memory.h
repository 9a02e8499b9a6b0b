/* SPDX-License-Identifier: GPL-2.0-only */
/* The walker of BPF (bpf/abi/unwind_walk.h), on memory that is made up here. */
#ifndef WALK_MEMORY_H
#define WALK_MEMORY_H

#include "abi/unwind_layout.h"
#include "unit.h"

#define BASE 0x7ff0000

static uint64_t memory[128]; /* at BASE */

static uint64_t address(size_t word)
{
	return BASE + word * sizeof(memory[0]);
}

static bool unwind_read(struct unwind_state *s, void *dst, __u32 size, __u64 addr)
{
	(void)s;
	if (addr < BASE || addr - BASE > sizeof(memory) - size)
		return false;
	memcpy(dst, (char *)memory + (addr - BASE), size);
	return true;
}

__attribute__((unused)) static __u64 unwind_thread_base(struct unwind_state *s)
{
	(void)s;
	return 0;
}

static void unwind_note(struct unwind_state *s, __u64 addr, __u64 word)
{
	(void)s;
	(void)addr;
	(void)word;
}

__attribute__((unused)) static __u64 unwind_address_mask(void)
{
	return (1ULL << 48) - 1;
}

#include "abi/unwind_walk.h"

static inline void check_regs(const struct unwind_state *s, uint64_t ip, uint64_t sp, uint64_t bp)
{
	CHECK_EQ(s->ip, ip);
	CHECK_EQ(s->sp, sp);
	CHECK_EQ(s->bp, bp);
}

#endif
