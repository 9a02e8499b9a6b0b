/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroups (v2) of this machine by their ids, which are the inode numbers of their directories.
 * Directories are watched, so that a cgroup has its name after it is gone, too.
 */
#ifndef CGROUPS_H
#define CGROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/containers.h"

struct cgroup {
	uint64_t id;
	char *path; /* below the file system's root, "/" for the root */
	bool is_gone;
	struct container container;
};

struct cgroups;

/*
 * Finds all cgroups, and watches them if `watch`; warns if that fails. Where cgroup2 is not
 * mounted, there are none.
 */
struct cgroups *cgroups_new(bool watch);
void cgroups_free(struct cgroups *cgroups);

/* Returns true if cgroup2 is mounted; cgroups_root(): where; NULL: nowhere. */
bool cgroups_are_there(void);
const char *cgroups_root(void);

/* Returns the id of the cgroup that the process is in; 0: unknown. */
uint64_t cgroup_of_process(pid_t pid);

/* Becomes readable when directories came or went, for cgroups_update(); -1: nothing is watched. */
int cgroups_fd(const struct cgroups *cgroups);
void cgroups_update(struct cgroups *cgroups);

/*
 * NULL: unknown. Where directories are not watched, looks for new ones, once in a second. Valid
 * until the next call of cgroups_update() or cgroups_find().
 */
const struct cgroup *cgroups_find(struct cgroups *cgroups, uint64_t id);

/* Calls visit for each existing cgroup, in no order. */
void cgroups_visit(struct cgroups *cgroups, void (*visit)(const struct cgroup *cgroup, void *arg),
		   void *arg);

#endif
