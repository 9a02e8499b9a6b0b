// SPDX-License-Identifier: GPL-2.0-only
/* CPUs that go offline or come online; see hotplug.h. */
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hotplug.h"

#define KERNELS_GROUP 1 /* the kernel's own messages; udev(7) uses another group */

/* A message is "online@/devices/system/cpu/cpu1", a zero byte, and the same as variables. */
bool hotplug_parse(const char *text, size_t n, uint32_t *cpu, bool *is_online)
{
	char action[16];
	int length = 0;

	if (sscanf(text, "%15[a-z]@/devices/system/cpu/cpu%u%n", action, cpu, &length) != 2 ||
	    (size_t)length > n || text[length])
		return false;
	*is_online = !strcmp(action, "online");
	return *is_online || !strcmp(action, "offline");
}

/* Reads and handles one message. False: no message is pending. */
static bool read_message(const struct hotplug *hotplug)
{
	struct sockaddr_nl from = {};
	socklen_t size = sizeof(from);
	char text[4096];
	ssize_t n = recvfrom(hotplug->fd, text, sizeof(text) - 1, MSG_DONTWAIT,
			     (struct sockaddr *)&from, &size);
	bool is_online;
	uint32_t cpu;

	if (n < 0)
		return false;
	text[n] = '\0';
	if (!from.nl_pid && hotplug_parse(text, (size_t)n, &cpu, &is_online))
		hotplug->changed(cpu, is_online, hotplug->arg);
	return true;
}

static enum loop_verdict on_messages(int fd, void *arg)
{
	(void)fd;
	while (read_message(arg))
		;
	return LOOP_GO;
}

int hotplug_watch(struct hotplug *hotplug, struct loop *loop)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = KERNELS_GROUP };
	int err;

	hotplug->fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	if (hotplug->fd < 0)
		return -errno;
	err = bind(hotplug->fd, (struct sockaddr *)&kernel, sizeof(kernel)) ? -errno : 0;
	return err ? err : loop_watch(loop, hotplug->fd, on_messages, hotplug);
}

void hotplug_close(struct hotplug *hotplug)
{
	if (hotplug->fd > 0)
		close(hotplug->fd);
	hotplug->fd = 0;
}
