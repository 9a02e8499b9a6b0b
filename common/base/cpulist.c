// SPDX-License-Identifier: GPL-2.0-only
/* Parses lists of CPUs; see cpulist.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cpulist.h"

#define ONLINE_CPUS "/sys/devices/system/cpu/online"

int cpulist_visit(const char *list, int (*visit)(uint32_t cpu, void *arg), void *arg)
{
	unsigned long first, last;
	char *end;
	int verdict = 0;

	while (*list >= '0' && *list <= '9') {
		first = last = strtoul(list, &end, 10);
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; !verdict && first <= last; first++)
			verdict = visit((uint32_t)first, arg);
		if (verdict || *end != ',')
			break;
		list = end + 1;
	}
	return verdict;
}

int cpulist_visit_online(int (*visit)(uint32_t cpu, void *arg), void *arg)
{
	FILE *f = fopen(ONLINE_CPUS, "re");
	size_t size = 0;
	char *line = NULL;
	int verdict;

	if (!f)
		return -errno;
	verdict = getline(&line, &size, f) > 0 ? cpulist_visit(line, visit, arg) : -EIO;
	free(line);
	fclose(f);
	return verdict;
}
