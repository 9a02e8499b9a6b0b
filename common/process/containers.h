/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses the container and the systemd unit of a cgroup (v2) from its path: container managers put
 * the container's id into the directory's name, systemd makes a directory for each unit.
 */
#ifndef CONTAINERS_H
#define CONTAINERS_H

#include <stdbool.h>

#define CONTAINER_ID_MAX 65  /* 64 hexadecimal digits, or a truncated name, and a zero byte */
#define UNIT_NAME_MAX	 256 /* as in systemd's src/basic/unit-name.h */

struct container {
	const char *
		runtime; /* "containerd", "cri-o", "docker", "podman", "nerdctl", "lxc", "nspawn" */
	char id[CONTAINER_ID_MAX]; /* id, or the name for lxc and nspawn; "": not in a container */
	/*
	 * "nginx.service", "session-3.scope"; below user@1000.service, the user's unit; the slice
	 * if there is no unit; "": none.
	 */
	char unit[UNIT_NAME_MAX];
};

/*
 * Parses a cgroup's path as in /proc/PID/cgroup. The innermost of nested containers counts. Parts
 * missing in the path become "".
 */
void container_parse(struct container *container, const char *path);

/* Returns true if id is the container's id or name. */
bool container_is(const struct container *container, const char *id);

/* Returns true if id is the container's id or name, or a prefix of it. */
bool container_matches(const struct container *container, const char *id);

/* Returns true if name has the suffix of a systemd unit. */
bool container_is_unit_name(const char *name);

#endif
