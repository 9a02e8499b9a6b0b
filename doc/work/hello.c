// SPDX-License-Identifier: GPL-2.0-only
/* What the compiler compiles in the examples of the manual. */
#include <stdio.h>

int main(void)
{
	return puts("hello") < 0;
}
