/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of cgroups (v2) by their ids, which are the inode numbers of their folders. */
#ifndef CGROUPS_H
#define CGROUPS_H

#include <stddef.h>
#include <stdint.h>

/* The path below the file system's root, "/" for the root. 0, or -ENOENT: not found, buf is "". */
int cgroup_path_of(uint64_t id, char *buf, size_t size);

#endif
