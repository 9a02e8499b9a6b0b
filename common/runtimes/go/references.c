// SPDX-License-Identifier: GPL-2.0-only
/* References of code to variables; see references.h. */
#include <stdlib.h>

#include "base/load.h"
#include "elf/x86_decode.h"
#include "runtimes/go/references.h"

static void add(struct go_references *refs, uint64_t vaddr, uint8_t bytes, bool is_store)
{
	if (refs->n < GO_REFERENCES_MAX)
		refs->items[refs->n++] = (struct go_reference){ vaddr, bytes, is_store };
}

/* ---- x86-64 ---- */

static uint8_t x86_access_bytes(const struct x86_insn *insn)
{
	uint8_t word = insn->rex & 8 ? 8 : 4;

	if (insn->map == X86_MAP_ONE && insn->opcode == 0x8d) /* lea */
		return 0;
	if (insn->map == X86_MAP_ONE)
		return insn->opcode & 1 ? word : 1;
	if (insn->prefixes & (X86_PREFIX_F2 | X86_PREFIX_F3))
		return insn->prefixes & X86_PREFIX_F2 ? 8 : 4; /* scalar double, single */
	/* movzx and movsx of a byte */
	return insn->map == X86_MAP_0F && (insn->opcode & 0xf7) == 0xb6 ? 1 : word;
}

/* Returns true for mov to memory. */
static bool x86_is_store(const struct x86_insn *insn)
{
	return insn->map == X86_MAP_ONE &&
	       ((insn->opcode & 0xfe) == 0x88 || (insn->opcode & 0xfe) == 0xc6);
}

static bool x86_is_relative(const struct x86_insn *insn)
{
	return insn->has_modrm && (insn->modrm & 0xc7) == 5 && !insn->is_vex;
}

static void find_x86(struct go_references *refs, const uint8_t *code, size_t size, uint64_t vaddr)
{
	struct x86_insn insn;
	int64_t offset;

	for (size_t at = 0; at < size; at += insn.bytes) {
		if (!x86_decode(&insn, code + at, size - at)) {
			insn.bytes = 1; /* unknown: decoding falls into step again */
			continue;
		}
		if (!x86_is_relative(&insn) || insn.modrm_at + 5 > insn.bytes)
			continue;
		offset = (int32_t)load_u32(code + at + insn.modrm_at + 1);
		add(refs, vaddr + at + insn.bytes + (uint64_t)offset, x86_access_bytes(&insn),
		    x86_is_store(&insn));
	}
}

/* ---- arm64 ---- */

/* Addresses that are in registers. */
struct registers {
	uint64_t values[32];
	uint32_t known; /* bit per register */
};

static void set_register(struct registers *regs, uint32_t number, uint64_t value)
{
	regs->values[number] = value;
	regs->known |= 1u << number;
}

static int64_t signed_bits(uint64_t value, unsigned int n_bits)
{
	return (int64_t)(value << (64 - n_bits)) >> (64 - n_bits);
}

/* Follows adrp, adr and add of a constant. False: another instruction. */
static bool arm64_take_address(struct registers *regs, struct go_references *refs, uint32_t insn,
			       uint64_t pc)
{
	int64_t distance = signed_bits((insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3), 21);
	uint32_t to = insn & 31, from = insn >> 5 & 31;

	if ((insn & 0x9f000000) == 0x90000000) { /* adrp */
		set_register(regs, to, (pc & ~0xfffULL) + (uint64_t)(distance * 4096));
		return true;
	}
	if ((insn & 0x9f000000) == 0x10000000) /* adr */
		set_register(regs, to, pc + (uint64_t)distance);
	else if ((insn & 0xff800000) == 0x91000000 && regs->known >> from & 1) /* add */
		set_register(regs, to,
			     regs->values[from] +
				     ((insn >> 10 & 0xfffULL) << (insn >> 22 & 1) * 12));
	else
		return false;
	add(refs, regs->values[to], 0, false);
	return true;
}

/* Follows loads and stores with a constant offset. False: another instruction. */
static bool arm64_access(struct registers *regs, struct go_references *refs, uint32_t insn)
{
	uint32_t to = insn & 31, from = insn >> 5 & 31, shift = insn >> 30;
	bool is_store = !(insn >> 22 & 3), is_vector = insn >> 26 & 1;

	if ((insn & 0x3b000000) != 0x39000000 || !(regs->known >> from & 1))
		return false;
	if (!is_vector)
		add(refs, regs->values[from] + ((insn >> 10 & 0xfffULL) << shift),
		    (uint8_t)(1u << shift), is_store);
	if (!is_vector && !is_store)
		regs->known &= ~(1u << to);
	return true;
}

/* Follows acquiring, exclusive and atomic accesses, which have no offset. */
static bool arm64_access_atomic(struct registers *regs, struct go_references *refs, uint32_t insn)
{
	uint32_t from = insn >> 5 & 31;
	bool is_ordered = (insn & 0x3fff0000) == 0x08df0000;
	bool is_exclusive = (insn & 0x3fe00000) == 0x08400000;
	bool is_atomic = (insn & 0x3f200000) == 0x38200000;

	if ((!is_ordered && !is_exclusive && !is_atomic) || !(regs->known >> from & 1))
		return false;
	add(refs, regs->values[from], (uint8_t)(1u << (insn >> 30)), false);
	regs->known &= ~(1u << (insn & 31));
	return true;
}

/*
 * Forgets the registers that any other instruction may write; after a call, all. Forgetting too
 * many costs a reference, too few would give a wrong one.
 */
static void arm64_forget(struct registers *regs, uint32_t insn)
{
	bool is_call = (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000;
	bool is_branch = (insn & 0x7c000000) == 0x14000000 || (insn & 0xff000010) == 0x54000000;

	if (is_call)
		regs->known = 0;
	else if (!is_branch)
		regs->known &= ~(1u << (insn & 31));
}

static void find_arm64(struct go_references *refs, const uint8_t *code, size_t size, uint64_t vaddr)
{
	struct registers regs = {};
	uint32_t insn;

	for (size_t at = 0; at + sizeof(insn) <= size; at += sizeof(insn)) {
		insn = load_u32(code + at);
		if (!arm64_take_address(&regs, refs, insn, vaddr + at) &&
		    !arm64_access(&regs, refs, insn) && !arm64_access_atomic(&regs, refs, insn))
			arm64_forget(&regs, insn);
	}
}

void go_references_find(struct go_references *refs, const struct elf64 *elf,
			const struct go_func *f)
{
	uint64_t size = f->end - f->start;
	uint8_t *code;

	refs->n = 0;
	if (size > GO_CODE_MAX)
		size = GO_CODE_MAX;
	code = elf64_read_vaddr(elf, f->start, size, GO_CODE_MAX);
	if (code && elf->header.e_machine == EM_AARCH64)
		find_arm64(refs, code, size, f->start);
	else if (code)
		find_x86(refs, code, size, f->start);
	free(code);
}

bool go_references_access(const struct go_references *refs, uint64_t vaddr, uint8_t bytes)
{
	for (size_t i = 0; i < refs->n; i++)
		if (refs->items[i].vaddr == vaddr && refs->items[i].bytes == bytes)
			return true;
	return false;
}
