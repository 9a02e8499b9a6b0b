/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instructions of arm64 that the kernel emulates under a probe, steps over, or refuses, as a
 * disassembler shows them. Dubious ones are refused by us; some kernels take a probe there, and do
 * something wrong when it is hit.
 */
#ifndef ARM64_INSNS_H
#define ARM64_INSNS_H

#include "probes/probe_place.h"

static const struct arm64_insn {
	uint32_t word;
	enum probe_kind kind;
	const char *text;
	bool is_dubious;
} arm64_insns[] = {
	{ 0x14000010, PROBE_BRANCH, "b .+64" },
	{ 0x94000010, PROBE_BRANCH, "bl .+64" },
	{ 0x54000201, PROBE_BRANCH, "b.ne .+64" },
	{ 0xb4000200, PROBE_BRANCH, "cbz x0, .+64" },
	{ 0x35000203, PROBE_BRANCH, "cbnz w3, .+64" },
	{ 0xb6f80200, PROBE_BRANCH, "tbz x0, #63, .+64" },
	{ 0x37180200, PROBE_BRANCH, "tbnz w0, #3, .+64" },
	{ 0xd61f0200, PROBE_BRANCH, "br x16" },
	{ 0xd63f0020, PROBE_BRANCH, "blr x1" },
	{ 0xd65f03c0, PROBE_BRANCH, "ret" },
	{ 0x10000203, PROBE_ADDRESS, "adr x3, .+64" },
	{ 0x90000003, PROBE_ADDRESS, "adrp x3, .+65536" },
	{ 0xd503201f, PROBE_LATE_NOP, "nop" },
	{ 0xa9bc7bfd, PROBE_STEP, "stp x29, x30, [sp, #-64]!" },
	{ 0xd503245f, PROBE_STEP, "bti c" },
	{ 0xd50324df, PROBE_STEP, "bti jc" },
	{ 0xd503233f, PROBE_STEP, "paciasp" },
	{ 0xd503237f, PROBE_STEP, "pacibsp" },
	{ 0xd50320ff, PROBE_STEP, "xpaclri" },
	{ 0xd53bd041, PROBE_STEP, "mrs x1, tpidr_el0" },
	{ 0xd5033bbf, PROBE_STEP, "dmb ish" },
	{ 0xd50b7420, PROBE_STEP, "dc zva, x0" },
	{ 0xaa0003e1, PROBE_STEP, "mov x1, x0" },
	{ 0x3dc00020, PROBE_STEP, "ldr q0, [x1]" },
	{ 0xf8218002, PROBE_STEP, "swp x1, x2, [x0]" },
	{ 0xc8dffc01, PROBE_STEP, "ldar x1, [x0]" },
	{ 0xd5033fdf, PROBE_STEP, "isb" },
	{ 0xd503231f, PROBE_STEP, "paciaz" },
	{ 0xd4000001, PROBE_REFUSED, "svc #0" },
	{ 0xd4200020, PROBE_REFUSED, "brk #1" },
	{ 0x58000201, PROBE_REFUSED, "ldr x1, .+64", true },
	{ 0x98000201, PROBE_REFUSED, "ldrsw x1, .+64", true },
	{ 0x9c000201, PROBE_REFUSED, "ldr q1, .+64", true },
	{ 0xd8000200, PROBE_REFUSED, "prfm pldl1keep, .+64" },
	{ 0xc85f7c01, PROBE_REFUSED, "ldxr x1, [x0]" },
	{ 0xc87f8801, PROBE_REFUSED, "ldaxp x1, x2, [x0]" },
	{ 0xc801fc02, PROBE_REFUSED, "stlxr w1, x2, [x0]" },
	{ 0xd71f0822, PROBE_REFUSED, "braa x1, x2" },
	{ 0xd65f0bff, PROBE_REFUSED, "retaa" },
	{ 0xd50323bf, PROBE_REFUSED, "autiasp" },
	{ 0xd503203f, PROBE_REFUSED, "yield" },
	{ 0xd503243f, PROBE_REFUSED, "hint #33", true },
	{ 0xd5032000, PROBE_REFUSED, "no hint", true },
	{ 0xd503251f, PROBE_REFUSED, "hint #40: chkfeat x16" },
	{ 0xd51b4400, PROBE_REFUSED, "msr fpcr, x0" },
	{ 0xd500401f, PROBE_REFUSED, "cfinv", true },
	{ 0x54000211, PROBE_REFUSED, "bc.ne .+64", true },
	{ 0x19010440, PROBE_REFUSED, "cpyfp [x0]!, [x1]!, x2!", true },
};

#endif
