// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the end of a function's code; see code_end.h. A jump that no branch jumps over ends the
 * function, since it may lead to another function. The instruction after a call is code, unless it
 * is padding: then the call doesn't return.
 */
#include <elf.h>
#include <stdbool.h>

#include "abi/arm64_insn.h"
#include "base/load.h"
#include "elf/code_end.h"
#include "elf/x86_decode.h"

/* A decoded instruction of any machine. */
struct step {
	size_t bytes;	  /* length; 0: unknown instruction */
	int64_t distance; /* distance of a branch, in bytes; 0: a call, or no branch */
	bool is_end;
	bool is_return;
	bool is_call;
	bool is_padding;
};

/* ---- x86-64 ---- */

static struct step read_x86(const uint8_t *code, size_t size)
{
	struct step step = {};
	struct x86_insn insn;

	if (!x86_decode(&insn, code, size))
		return step;
	step.bytes = insn.bytes;
	if (insn.is_vex || insn.map > X86_MAP_0F)
		return step;
	step.is_end = x86_ends_path(&insn);
	step.is_return = insn.map == X86_MAP_ONE && (insn.opcode & ~1) == 0xc2;
	step.is_call = x86_is_call(&insn);
	step.is_padding = x86_is_nop(&insn);
	if (insn.is_relative && !step.is_call)
		step.distance = (int64_t)insn.bytes + insn.relative;
	return step;
}

/* ---- arm64 ---- */

static struct step read_arm64(const uint8_t *code, size_t size)
{
	struct step step = {};
	uint32_t word;

	if (size < sizeof(word))
		return step;
	word = load_u32(code);
	step.bytes = sizeof(word);
	step.is_end = arm64_ends_path(word);
	step.is_return = arm64_is_return(word);
	step.is_call = arm64_is_call(word);
	step.is_padding = word == ARM64_NOP;
	if (!step.is_call)
		step.distance = arm64_branch_distance(word) * ARM64_INSN_BYTES;
	return step;
}

/* ---- any machine ---- */

static struct step read_step(const uint8_t *code, size_t size, uint16_t machine)
{
	if (machine == EM_X86_64)
		return read_x86(code, size);
	return machine == EM_AARCH64 ? read_arm64(code, size) : (struct step){};
}

/* Returns the larger of reach and the target of a conditional branch in the code. */
static size_t farther(size_t reach, size_t at, const struct step *step, size_t size)
{
	size_t target = at + (size_t)step->distance;

	return !step->is_end && step->distance > 0 && target < size && target > reach ? target
										      : reach;
}

size_t code_end(const uint8_t *code, size_t size, uint16_t machine)
{
	bool is_behind_call = false;
	size_t at = 0, reach = 0;

	while (at < size) {
		struct step step = read_step(code + at, size - at, machine);

		if (!step.bytes || (step.is_padding && is_behind_call))
			break;
		reach = farther(reach, at, &step, size);
		at += step.bytes;
		if (step.is_end && reach < at)
			break;
		is_behind_call = step.is_call;
	}
	return at ? at : 1;
}

struct code_path code_path(const uint8_t *code, size_t size, uint16_t machine)
{
	struct code_path path = {};
	struct step step;

	for (size_t at = 0; at < size; at += step.bytes) {
		step = read_step(code + at, size - at, machine);
		if (step.is_end && step.distance)
			path.jump = (int64_t)at + step.distance;
		path.is_return = step.is_return;
		if (!step.bytes || step.is_end)
			break;
	}
	return path;
}
