/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes that are read: by number, or those of a cgroup now. */
#ifndef DUMP_TARGETS_H
#define DUMP_TARGETS_H

#include <stddef.h>
#include <sys/types.h>

#include "modules/cgroup_filter.h"

struct targets {
	struct cgroup_filter cgroup; /* container or unit, or neither */
	pid_t *pids;		     /* freed with free() */
	size_t n, cap;
};

/* Parses a comma-separated list of pids into the targets at dest: an opt_parse_fn. */
int targets_parse(const char *what, const char *text, void *dest);

/* Finds the pids of the container or unit, if there is one. 0 or negative, printed. */
int targets_find(struct targets *targets);

#endif
