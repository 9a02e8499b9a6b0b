/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that go offline and come back, from the kernel's broadcasts: netlink(7),
 * NETLINK_KOBJECT_UEVENT. What was opened for a CPU is dead once it has gone.
 */
#ifndef HOTPLUG_H
#define HOTPLUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

/* Embedded in the caller's struct, and valid as long as the loop runs. */
struct hotplug {
	void (*changed)(uint32_t cpu, bool is_online, void *arg);
	void *arg;
	int fd; /* to be closed by hotplug_close() */
};

/* Calls changed() from the loop. 0 or -errno: on failure, CPUs that come online are missed. */
int hotplug_watch(struct hotplug *hotplug, struct loop *loop);
void hotplug_close(struct hotplug *hotplug);

/* Parses one message of n bytes; false: it is not about a CPU. text[n] has to be 0. */
bool hotplug_parse(const char *text, size_t n, uint32_t *cpu, bool *is_online);

#endif
