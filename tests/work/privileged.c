// SPDX-License-Identifier: GPL-2.0-only
/* privileged: prints its effective user id. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	printf("euid %u\n", (unsigned int)geteuid());
	return 0;
}
