// SPDX-License-Identifier: GPL-2.0-only
/* Functions to probe; see probe_samples.h. */
#include "probes/probe_samples.h"

#define SAMPLE(name, code)                                        \
	__asm__(".pushsection .text\n.balign 4\n"                 \
		".type probe_sample_" #name ", %function\n"       \
		"probe_sample_" #name ": " code "\n.popsection"); \
	void probe_sample_##name(void)

#if defined(__x86_64__)
SAMPLE(nop, "nop; ret");
SAMPLE(push, "push %rbx; pop %rbx; ret");
SAMPLE(branch, "je 1f; 1: ret");
SAMPLE(late_nop, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00; ret");
SAMPLE(step, "test %rdi, %rdi; ret");
#define probe_sample_address probe_sample_step
#else
SAMPLE(address, "adr x9, probe_sample_address; ret");
SAMPLE(branch, "cbz x9, 1f; 1: ret");
SAMPLE(late_nop, "nop; ret");
SAMPLE(step, "cmp x9, #0; ret");
#define probe_sample_nop  probe_sample_step
#define probe_sample_push probe_sample_step
#endif

void (*const probe_samples[PROBE_KINDS])(void) = {
	[PROBE_NOP] = probe_sample_nop,		  [PROBE_PUSH] = probe_sample_push,
	[PROBE_ADDRESS] = probe_sample_address,	  [PROBE_BRANCH] = probe_sample_branch,
	[PROBE_LATE_NOP] = probe_sample_late_nop, [PROBE_STEP] = probe_sample_step,
	[PROBE_REFUSED] = probe_sample_step,
};
