/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the instruction in a function's entry where a uprobe costs least. The kernel emulates a few
 * instructions and single-steps a copy of any other, which costs two more traps. So the first
 * instructions are decoded, and the probe is put on the cheapest one that every call executes once,
 * with the arguments still in registers.
 *
 * x86-64 (arch/x86/kernel/uprobes.c) emulates a push of a register, nops, relative jumps and calls.
 * arm64 (arch/arm64/kernel/probes/decode-insn.c) emulates all branches and adr, newer kernels also
 * nop; it refuses probes on some instructions, such as literal and exclusive loads.
 *
 * Instructions before the probe write no memory, except the function's own frame on arm64, and
 * don't change the last copy of an argument. If the return is probed too, they don't change where
 * the kernel finds the return address when the probe is hit. On x86-64 rsp points at it. On arm64
 * x30 holds it, and the kernel replaces it: this must happen before x30 is signed (paciasp), stored
 * or copied, and sp must be the same as after the return, since the kernel recognizes finished
 * calls by sp. bti may be skipped.
 *
 * The search ends at the first branch, which may itself be probed, and at the first unknown
 * instruction. It also ends where a relative jump in the function leads back into the entry, since
 * one call would hit the probe twice. Jumps that are not visible in the function's own bytes
 * (indirect jumps, and jumps from a part that the compiler has put elsewhere) are ignored: they
 * would have to loop to before the first push or branch.
 *
 * Any bytes are safe, since the traced side may have chosen them.
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
	unsigned int offset; /* bytes from the function's start */
	enum probe_kind kind;

	/*
	 * Registers that hold the first n_args arguments at the probe, numbered as in machine code.
	 * x86-64: rax 0, rcx, rdx, rbx, rsp, rbp, rsi 6, rdi 7, r8 to r15; arm64: x0 to x30.
	 * Without may_move_args: those of the calling convention, and is_moved is false.
	 */
	bool is_moved;
	uint8_t args[PROBE_MAX_ARGS];
};

/*
 * Finds the location in a function. code: its first `size` bytes, ideally all, since jumps back are
 * searched for. Offset 0 (kind PROBE_STEP if size is 0) if no other location is better.
 */
void probe_place_find(struct probe_place *place, const struct probe_request *request,
		      const uint8_t *code, size_t size);

/* ---- for tests ---- */

/* Like probe_place_find(), for the given machine (probe_machine.h). */
struct probe_machine;
void probe_place_find_on(const struct probe_machine *machine, struct probe_place *place,
			 const struct probe_request *request, const uint8_t *code, size_t size);

#endif
