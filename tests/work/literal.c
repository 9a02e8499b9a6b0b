// SPDX-License-Identifier: GPL-2.0-only
/*
 * literal: an allocator whose functions begin, on arm64, with a literal load, on which the kernel
 * allows no probe. mi_malloc() can be probed after it; mi_free(), which isn't called, has
 * overwritten its argument there. Prints the calls of malloc: "@literal malloc CALLS".
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

/* Volatile, so that the compiler can't remove pairs of malloc() and free(). */
static void *(*volatile call_malloc)(size_t) = mi_malloc;

int main(void)
{
	work_set_comm("literal");
	work_say("malloc", 2 * CALLS); /* mi_malloc() jumps to libc's malloc() */
	work_wait_go();
	for (size_t i = 1; i <= CALLS; i++)
		free(call_malloc(i));
	work_wait_end();
	return 0;
}
