/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroup that is traced, by its path or by the names that people have for it: a container's id,
 * a unit of systemd. A service that is restarted gets a new cgroup of the same name.
 */
#ifndef CGROUP_FILTER_H
#define CGROUP_FILTER_H

#include <stdint.h>

#include "process/cgroups.h"
#include "process/containers.h"
#include "run/run.h"

/*
 * Watches the names of cgroups while a tool runs: a removed cgroup keeps its name. *names is freed
 * with cgroups_free() at the end of the run. 0; or -errno, printed.
 */
int cgroup_names_start(const struct run *run, struct cgroups **names);

/* NULL if there is no text. */
static inline const char *cgroup_text(const char *text)
{
	return *text ? text : NULL;
}

struct cgroup_filter {
	/* At most one of these is set. */
	const char *path;
	const char *container; /* its id or name, or its beginning */
	const char *unit;      /* ".service" may be left out */

	struct run *run;
	uint64_t id; /* 0: no such filter */
	char *folder;
	char found_container[CONTAINER_ID_MAX];
	int timer_fd;
	bool is_gone;
};

/* Finds the cgroup, with its id. 0; or -EINVAL, printed: there is none, or more than one. */
int cgroup_filter_find(struct cgroup_filter *filter);

/*
 * While tracing: passes the cgroup to BPF, and the new one where it has been made anew. 0 or
 * -errno, printed.
 */
int cgroup_filter_start(struct cgroup_filter *filter, struct run *run);

void cgroup_filter_free(struct cgroup_filter *filter);

#endif
