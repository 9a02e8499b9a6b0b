/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filter by cgroup: its path, its container's id, or its systemd unit. A restarted service gets a
 * new cgroup with the same name, which is traced, too.
 */
#ifndef CGROUP_FILTER_H
#define CGROUP_FILTER_H

#include <stdint.h>

#include "process/cgroups.h"
#include "process/containers.h"
#include "run/run.h"

/*
 * Watches cgroups while a tool runs, so that removed ones keep their names. *names is freed with
 * cgroups_free() at the end of the run. 0 or -errno, printed.
 */
int cgroup_names_start(const struct run *run, struct cgroups **names);

/* Returns the text; NULL if it is empty. */
static inline const char *cgroup_text(const char *text)
{
	return *text ? text : NULL;
}

struct cgroup_filter {
	/* At most one of these is set. */
	const char *path;
	const char *container; /* id or name, or its beginning */
	const char *unit;      /* ".service" may be omitted */

	struct run *run;
	uint64_t id; /* the cgroup's id; 0: no filter, or cgroup removed */
	char *folder;
	char found_container[CONTAINER_ID_MAX];
	int timer_fd;
	bool is_gone;
};

/* Finds the cgroup and its id. 0; or -EINVAL, printed: none, or more than one. */
int cgroup_filter_find(struct cgroup_filter *filter);

/* Passes the cgroup to BPF, and later one that replaces it. 0 or -errno, printed. */
int cgroup_filter_start(struct cgroup_filter *filter, struct run *run);

void cgroup_filter_free(struct cgroup_filter *filter);

#endif
