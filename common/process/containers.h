/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The container and the systemd unit of a cgroup (v2), from its path: container managers put the
 * container's id into the directory's name, systemd makes a directory for each unit.
 */
#ifndef CONTAINERS_H
#define CONTAINERS_H

#include <stdbool.h>

#define CONTAINER_ID_MAX 65  /* 64 hexadecimal digits, or a truncated name */
#define UNIT_NAME_MAX	 256 /* UNIT_NAME_MAX, systemd's src/basic/unit-name.h */

struct container {
	const char *
		runtime; /* "containerd", "cri-o", "docker", "podman", "nerdctl", "lxc", "nspawn" */
	char id[CONTAINER_ID_MAX]; /* the name where the runtime is lxc or nspawn; "": in none */
	/*
	 * "nginx.service", "session-3.scope"; a user's unit below user@1000.service; the slice if
	 * there is no unit; "": none.
	 */
	char unit[UNIT_NAME_MAX];
};

/*
 * Parses a path below the file system's root, as in /proc/PID/cgroup. Of nested containers the
 * innermost counts. Parts missing in the path stay "".
 */
void container_parse(struct container *container, const char *path);

/* Returns true if that is the container's id or name. */
bool container_is(const struct container *container, const char *id);

/* Returns true if that is the container's id or name, or a prefix of it. */
bool container_matches(const struct container *container, const char *id);

/* Returns true if the name has the suffix of a systemd unit. */
bool container_is_unit_name(const char *name);

#endif
