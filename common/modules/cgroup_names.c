// SPDX-License-Identifier: GPL-2.0-only
/* Names of cgroups while a tool runs; see cgroup_names.h. */
#include "modules/cgroup_names.h"
#include "base/loop.h"

static enum loop_verdict on_cgroups(int fd, void *arg)
{
	(void)fd;
	cgroups_update(arg);
	return LOOP_GO;
}

int cgroup_names_start(const struct run *run, struct cgroups **names)
{
	int fd;

	*names = cgroups_new(true);
	fd = cgroups_fd(*names);
	return fd < 0 ? 0 : loop_watch(run->loop, fd, on_cgroups, *names);
}
