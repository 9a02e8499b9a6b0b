/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the instruction in a function's entry where a uprobe costs least. The kernel emulates a few
 * instructions and lets the CPU step over a copy of any other, which costs two more traps. So the
 * first instructions are decoded, and the probe is put on the cheapest one that every call passes
 * once, with the arguments still there.
 *
 * x86-64 (arch/x86/kernel/uprobes.c) emulates a push of a register, nops, relative jumps and calls.
 * arm64 (arch/arm64/kernel/probes/decode-insn.c) emulates branches of all kinds and adr, newer
 * kernels nop; it refuses probes on some, such as loads from beside the code and exclusive loads.
 *
 * Nothing that is skipped writes memory, but for stores to the function's own frame on arm64, or
 * changes the last copy of an argument. If the return is probed too, nothing that is skipped
 * changes where the kernel finds the return address when the probe is hit. On x86-64 rsp points at
 * it. On arm64 x30 holds it, and the kernel puts another one there: that has to happen before x30
 * is signed (paciasp), stored or copied, and sp must be what it is after the return, by which the
 * kernel finds the calls that are over. bti may be skipped.
 *
 * The search ends at the first branch, which may still be probed itself, and at the first
 * instruction that is unknown. It also ends where a relative jump in the function leads back into
 * the entry, since the probe would be hit again in the same call. Jumps that can't be seen in the
 * function's own bytes (indirect ones, and those from a part that the compiler has put elsewhere)
 * are not searched for: they would have to loop to before the first push or branch.
 *
 * Plain arithmetic on bytes that the traced side may have chosen: any bytes are safe.
 */
#ifndef PROBE_PLACE_H
#define PROBE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/probe_kind.h"

struct probe_request {
	/* number of integer arguments that the probe reads (0 to PROBE_MAX_ARGS) */
	unsigned int n_args;
	bool wants_return;  /* a return probe is set at the same location */
	bool may_move_args; /* the probe can read arguments from other registers: see args[] */
};

struct probe_place {
	unsigned int offset; /* bytes from the function's first one */
	enum probe_kind kind;

	/*
	 * The registers that hold the first n_args arguments there, numbered as in machine code.
	 * x86-64: rax 0, rcx, rdx, rbx, rsp, rbp, rsi 6, rdi 7, r8 to r15; arm64: x0 to x30.
	 * Without may_move_args it is the calling convention's (is_moved is false).
	 */
	bool is_moved;
	uint8_t args[PROBE_MAX_ARGS];
};

/*
 * Finds the location in a function of which `size` bytes are given: ideally the whole function,
 * since jumps back are searched for; bytes beyond are not considered. Offset 0 (kind PROBE_STEP if
 * size is 0) if no other location is better.
 */
void probe_place_find(struct probe_place *place, const struct probe_request *request,
		      const uint8_t *code, size_t size);

/* ---- for tests ---- */

/* The same for code of any machine, see probe_machine.h. */
struct probe_machine;
void probe_place_find_on(const struct probe_machine *machine, struct probe_place *place,
			 const struct probe_request *request, const uint8_t *code, size_t size);

#endif
