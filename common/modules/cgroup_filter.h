/* SPDX-License-Identifier: GPL-2.0-only */
/* Cgroups by the names that people have for them: a container's id, a unit of systemd. */
#ifndef CGROUP_FILTER_H
#define CGROUP_FILTER_H

#include <stdint.h>

/*
 * The id of the one cgroup that holds the container of that id or name, or its beginning; of the
 * unit of that name, where ".service" may be left out. 0; or -EINVAL, printed: there is none, or
 * more than one.
 */
int cgroup_find_container(const char *name, uint64_t *id);
int cgroup_find_unit(const char *name, uint64_t *id);

#endif
