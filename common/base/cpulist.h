/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses lists of CPUs in the format of /sys/devices/system/cpu/online: "0-3,8". */
#ifndef CPULIST_H
#define CPULIST_H

#include <stdint.h>

/* Calls visit for each CPU of a list, until visit returns non-zero. Returns visit's last result. */
int cpulist_visit(const char *list, int (*visit)(uint32_t cpu, void *arg), void *arg);

/* Like cpulist_visit(), for the online CPUs. Returns -errno if the kernel doesn't report them. */
int cpulist_visit_online(int (*visit)(uint32_t cpu, void *arg), void *arg);

#endif
