/* SPDX-License-Identifier: GPL-2.0-only */
/* Kinds of instructions by the cost of a uprobe on them; limits. See probe_place.h. */
#ifndef PROBE_KIND_H
#define PROBE_KIND_H

#define PROBE_MAX_ARGS	 6
#define PROBE_MAX_OFFSET 64 /* bytes */

/* Cheapest first; late nops are as cheap as the others if they are not stepped. */
enum probe_kind {
	PROBE_NOP,     /* x86-64: of one byte, without prefixes */
	PROBE_PUSH,    /* x86-64: of a register */
	PROBE_ADDRESS, /* arm64: adr, adrp */
	/* relative jump or call, conditional or not; on arm64 also through a register */
	PROBE_BRANCH,

	/* Stepped by older kernels: x86-64: of several bytes, before 6.18; arm64: before 6.13. */
	PROBE_LATE_NOP,
	PROBE_STEP,    /* x86-64: 20 times a push in a virtual machine; arm64: not twice a branch */
	PROBE_REFUSED, /* the kernel refuses a probe there, or mishandles its hit */
	PROBE_KINDS,
};

/* "push", "branch", ... for messages. */
const char *probe_kind_name(enum probe_kind kind);

#endif
