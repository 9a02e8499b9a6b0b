// SPDX-License-Identifier: GPL-2.0-only
/* Processes that are read; see targets.h. */

#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "dump/targets.h"

static int add_pid(uint64_t value, void *arg)
{
	struct targets *targets = arg;

	*MEM_APPEND(targets->pids, targets->n, targets->cap) = (pid_t)value;
	return 0;
}

int targets_parse(const char *what, const char *text, void *dest)
{
	return parse_list(what, text, 1, 1 << 22, add_pid, dest);
}

int targets_find(struct targets *targets)
{
	int err = cgroup_filter_find(&targets->cgroup);

	if (!err && targets->cgroup.folder)
		targets->pids = cgroup_processes(targets->cgroup.folder, &targets->n);
	cgroup_filter_free(&targets->cgroup);
	if (!err && !targets->n)
		err = msg_error("target: no process in this cgroup (it may have ended)");
	return err;
}
