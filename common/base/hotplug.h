/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports CPUs that go offline or come online, from the kernel's uevents: netlink(7),
 * NETLINK_KOBJECT_UEVENT. Perf events of a CPU stop for good when it goes offline.
 */
#ifndef HOTPLUG_H
#define HOTPLUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

/* A watch, embedded in the caller's struct; must stay valid while the loop runs. */
struct hotplug {
	void (*changed)(uint32_t cpu, bool is_online, void *arg);
	void *arg;
	int fd; /* netlink socket, closed by hotplug_close() */
};

/* Starts calling changed() from the loop. 0, or -errno: CPUs that come online will be missed. */
int hotplug_watch(struct hotplug *hotplug, struct loop *loop);
void hotplug_close(struct hotplug *hotplug);

/* Parses one message of n bytes; text[n] must be 0. False: the message is not about a CPU. */
bool hotplug_parse(const char *text, size_t n, uint32_t *cpu, bool *is_online);

#endif
