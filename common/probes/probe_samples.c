// SPDX-License-Identifier: GPL-2.0-only
/* Functions to probe; see probe_samples.h. */
#include "probes/probe_samples.h"

#ifdef __x86_64__
__asm__(".pushsection .text\n"
	".type probe_sample_nop, @function\n"
	"probe_sample_nop: nop; ret\n"
	".type probe_sample_push, @function\n"
	"probe_sample_push: push %rbx; pop %rbx; ret\n"
	".type probe_sample_branch, @function\n"
	"probe_sample_branch: je 1f; 1: ret\n"
	".type probe_sample_long_nop, @function\n"
	"probe_sample_long_nop: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00; ret\n"
	".type probe_sample_step, @function\n"
	"probe_sample_step: test %rdi, %rdi; ret\n"
	".popsection\n");
void probe_sample_nop(void);
void probe_sample_push(void);
void probe_sample_branch(void);
void probe_sample_long_nop(void);
void probe_sample_step(void);

void (*const probe_samples[PROBE_KINDS])(void) = {
	[PROBE_NOP] = probe_sample_nop,	      [PROBE_PUSH] = probe_sample_push,
	[PROBE_BRANCH] = probe_sample_branch, [PROBE_LONG_NOP] = probe_sample_long_nop,
	[PROBE_STEP] = probe_sample_step,
};
#else
__attribute__((noinline)) static void probe_sample_step(void)
{
	__asm__ volatile("");
}

void (*const probe_samples[PROBE_KINDS])(void) = {
	probe_sample_step, probe_sample_step, probe_sample_step,
	probe_sample_step, probe_sample_step,
};
#endif
