/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of CPUs as /sys/devices/system/cpu/online has them: "0-3,8". */
#ifndef CPULIST_H
#define CPULIST_H

#include <stddef.h>
#include <stdint.h>

/* Calls visit for each CPU of a list until it returns something else than 0, which is returned. */
int cpulist_visit(const char *list, int (*visit)(uint32_t cpu, void *arg), void *arg);

/* Visits the CPUs that are online. -errno if the kernel doesn't report them. */
int cpulist_visit_online(int (*visit)(uint32_t cpu, void *arg), void *arg);

#endif
