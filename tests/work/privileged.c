// SPDX-License-Identifier: GPL-2.0-only
/* privileged: prints as whom it runs. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	printf("euid %u\n", (unsigned int)geteuid());
	return 0;
}
