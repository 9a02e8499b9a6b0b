// SPDX-License-Identifier: GPL-2.0-only
/*
 * literal: an allocator whose functions begin, on arm64, with a load from beside the code, which
 * takes no probe. One can be probed behind it. The other, which isn't called, has lost its argument
 * there. Tells how often malloc is called: "@literal malloc CALLS".
 */
#include "work.h"

#define CALLS 223

void *mi_malloc(size_t bytes);
void mi_free(void *p);

#if defined(__aarch64__)
__asm__(".pushsection .text\n"
	".balign 8\n"
	".type mi_malloc, %function\n"
	".globl mi_malloc\n"
	"mi_malloc: ldr x9, 1f\n"
	"b malloc\n"
	"1: .quad 0\n"
	".size mi_malloc, . - mi_malloc\n"
	".type mi_free, %function\n"
	".globl mi_free\n"
	"mi_free: ldr x0, 1b\n"
	"b free\n"
	".size mi_free, . - mi_free\n"
	".popsection");
#else
void *mi_malloc(size_t bytes)
{
	return malloc(bytes);
}

void mi_free(void *p)
{
	free(p);
}
#endif

/* Hidden from the compiler, which may leave out calls that cancel each other out. */
static void *(*volatile call_malloc)(size_t) = mi_malloc;

int main(void)
{
	work_set_comm("literal");
	work_say("malloc", 2 * CALLS); /* its own and, by a jump to it, libc's */
	work_wait_go();
	for (size_t i = 1; i <= CALLS; i++)
		free(call_malloc(i));
	work_wait_end();
	return 0;
}
