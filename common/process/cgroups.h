/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks up the cgroups (v2) of this machine by id, which is the inode number of the directory.
 * Directories are watched, so that a removed cgroup still has its name.
 */
#ifndef CGROUPS_H
#define CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/containers.h"

struct cgroup {
	uint64_t id;
	char *path; /* relative to the mount point; "/" for the root */
	bool is_gone;
	struct container container;
};

struct cgroups;

/*
 * Finds all cgroups, and watches them if `watch`; warns if that fails. Empty if cgroup2 is not
 * mounted. Freed with cgroups_free().
 */
struct cgroups *cgroups_new(bool watch);
void cgroups_free(struct cgroups *cgroups);

/* Return whether cgroup2 is mounted, and its mount point (NULL: not mounted). */
bool cgroups_are_there(void);
const char *cgroups_root(void);

/* Returns the id of a process's cgroup; 0: unknown. */
uint64_t cgroup_of_process(pid_t pid);

/* Returns the *n processes of a folder's cgroup and of those below, freed with free(). */
pid_t *cgroup_processes(const char *folder, size_t *n);

/* Returns a descriptor that is readable when cgroups_update() has work to do; -1: not watching. */
int cgroups_fd(const struct cgroups *cgroups);
void cgroups_update(struct cgroups *cgroups);

/*
 * Returns a cgroup, valid until the next cgroups_update() or cgroups_find(); NULL: unknown. If
 * directories are not watched, looks for new ones, at most once per second.
 */
const struct cgroup *cgroups_find(struct cgroups *cgroups, uint64_t id);

/* Calls visit for each existing cgroup, in no order. */
void cgroups_visit(struct cgroups *cgroups, void (*visit)(const struct cgroup *cgroup, void *arg),
		   void *arg);

#endif
