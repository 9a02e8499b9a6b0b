/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where in a function's entry a uprobe costs least. The kernel emulates a few instructions (push of
 * a register, nop, relative jumps and calls: arch/x86/kernel/uprobes.c) and lets the CPU step over
 * a copy of any other, which costs two more traps. So the first instructions are decoded, and the
 * probe is put on the cheapest one that every call passes once, with the arguments still there.
 *
 * Nothing that is skipped writes memory or changes the last copy of an argument; none moves rsp if
 * the return is probed too, as the kernel takes the return address from where rsp points to when
 * the probe is hit. The search ends at the first branch, which may still be probed itself, and at
 * the first instruction that isn't known. It also ends where a relative jump in the function leads
 * back into the entry, since the probe would be hit again in the same call. Jumps that can't be
 * seen in the function's own bytes (indirect ones, and those from a part that the compiler has put
 * elsewhere) are not looked for: they would have to loop to before the first push or branch.
 *
 * Plain arithmetic on bytes that the traced side may have chosen: any bytes are safe. On machines
 * other than x86-64 the place is always the first instruction.
 */
#ifndef PROBE_PLACE_H
#define PROBE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cheapest first, but for nops of several bytes, which only new kernels (6.18) don't step over. */
enum probe_kind {
	PROBE_NOP,    /* of one byte; prefixes don't matter */
	PROBE_PUSH,   /* of a register */
	PROBE_BRANCH, /* relative jump or call, conditional or not */
	PROBE_LONG_NOP,
	PROBE_STEP, /* single-stepped: some 20 times the cost of a push in a virtual machine */
	PROBE_KINDS,
};

#define PROBE_MAX_ARGS	 6
#define PROBE_MAX_OFFSET 64 /* bytes */

struct probe_wish {
	unsigned int n_args; /* of integer type, that the probe reads (0 to PROBE_MAX_ARGS) */
	bool wants_return;   /* a return probe goes to the same place */
	bool may_move_args;  /* the probe can read arguments from other registers: see args[] */
};

struct probe_place {
	unsigned int offset; /* bytes from the function's first one */
	enum probe_kind kind;

	/*
	 * The registers that hold the first n_args arguments there, numbered as in x86-64 machine
	 * code: rax 0, rcx, rdx, rbx, rsp, rbp, rsi 6, rdi 7, r8 to r15. Without may_move_args,
	 * and elsewhere than on x86-64, it is the calling convention's (is_moved is false).
	 */
	bool is_moved;
	uint8_t args[PROBE_MAX_ARGS];
};

/*
 * The place in a function of which `size` bytes are known: best all of it, as the search for jumps
 * back wants them; what isn't there is not looked at. Always an answer: offset 0 where no other
 * place is better, and where size is 0 (kind PROBE_STEP).
 */
void probe_place_find(struct probe_place *place, const struct probe_wish *wish, const uint8_t *code,
		      size_t size);

/* "push", "branch", ... for messages. */
const char *probe_kind_name(enum probe_kind kind);

/* ---- for tests ---- */

/* The same on every machine: for x86-64 code. */
void probe_place_find_x86(struct probe_place *place, const struct probe_wish *wish,
			  const uint8_t *code, size_t size);

#endif
