/* SPDX-License-Identifier: GPL-2.0-only */
/* The names of cgroups while a tool runs: they are learnt as cgroups come, before they are gone. */
#ifndef CGROUP_NAMES_H
#define CGROUP_NAMES_H

#include "process/cgroups.h"
#include "run/run.h"

/* To be freed with cgroups_free(), at the end of the run. 0; or -errno, printed. */
int cgroup_names_start(const struct run *run, struct cgroups **names);

/* NULL if there is no text. */
static inline const char *cgroup_text(const char *text)
{
	return *text ? text : NULL;
}

#endif
