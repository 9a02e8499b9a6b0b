/* SPDX-License-Identifier: GPL-2.0-only */
/* Kinds of instructions, by the cost of a uprobe on them, and limits. See probe_place.h. */
#ifndef PROBE_KIND_H
#define PROBE_KIND_H

#define PROBE_MAX_ARGS	 6
#define PROBE_MAX_OFFSET 64 /* maximum bytes from the function's start */

/* Kinds, cheapest first; late nops are as cheap as other nops if the kernel emulates them. */
enum probe_kind {
	PROBE_NOP,     /* x86-64: nop of one byte, without prefixes */
	PROBE_PUSH,    /* x86-64: push of a register */
	PROBE_ADDRESS, /* arm64: adr, adrp */
	/* relative jump or call, conditional or not; on arm64 also through a register */
	PROBE_BRANCH,

	/* nops that older kernels step: x86-64: several bytes, before 6.18; arm64: before 6.13 */
	PROBE_LATE_NOP,
	PROBE_STEP, /* stepped: as slow as 20 pushes (x86-64 VM), or up to two branches (arm64) */
	PROBE_REFUSED, /* the kernel refuses a probe on it, or mishandles the hit */
	PROBE_KINDS,
};

/* Returns a kind's name for messages: "push", "branch", ... */
const char *probe_kind_name(enum probe_kind kind);

#endif
