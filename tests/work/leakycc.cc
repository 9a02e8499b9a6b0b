// SPDX-License-Identifier: GPL-2.0-only
/*
 * leakycc: keeps blocks that C++ has asked for; then wants more than there is, and survives.
 */
#include <new>
#include <vector>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "leaky.h"

struct thing {
	char bytes[NEW_BYTES];
};

static void *kept[1024];
static int n_kept;

__attribute__((noinline)) static void leak_new()
{
	for (int i = 0; i < NEW_COUNT; i++)
		kept[n_kept++] = new thing;
	__asm__ volatile("");
}

__attribute__((noinline)) static void leak_vector()
{
	for (int i = 0; i < VECTOR_COUNT; i++)
		kept[n_kept++] = new std::vector<int>(VECTOR_INTS);
	__asm__ volatile("");
}

__attribute__((noinline)) static void want_too_much()
{
	size_t bytes = (size_t)1 << 60;

	__asm__ volatile("" : "+r"(bytes));
	try {
		kept[n_kept++] = ::operator new(bytes);
	} catch (const std::bad_alloc &) {
		printf("@leakycc survived 1\n");
	}
}

int main()
{
	char byte;

	printf("@ready\n");
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) < 0)
		return 1;
	leak_new();
	leak_vector();
	want_too_much();
	printf("@done\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
