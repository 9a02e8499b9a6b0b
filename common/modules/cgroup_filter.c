// SPDX-License-Identifier: GPL-2.0-only
/* Cgroups by name; see cgroup_filter.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/msg.h"
#include "modules/cgroup_filter.h"
#include "process/cgroups.h"

struct search {
	bool (*matches)(const struct container *container, const char *name);
	const char *name;
	bool (*otherwise)(const struct container *container, const char *name); /* or NULL */
	const struct cgroup *found; /* the outermost of those that match */
	const struct cgroup *other; /* one that matches and is not in it; NULL: none */
};

static bool is_below(const struct cgroup *inner, const struct cgroup *outer)
{
	size_t n = strlen(outer->path);

	return !strncmp(inner->path, outer->path, n) && inner->path[n] == '/';
}

static void find_outermost(const struct cgroup *cgroup, void *arg)
{
	struct search *search = arg;

	if (!search->matches(&cgroup->container, search->name))
		return;
	if (!search->found || strlen(cgroup->path) < strlen(search->found->path))
		search->found = cgroup;
}

static void find_other(const struct cgroup *cgroup, void *arg)
{
	struct search *search = arg;

	if (search->matches(&cgroup->container, search->name) && cgroup != search->found &&
	    !is_below(cgroup, search->found))
		search->other = cgroup;
}

static int find(const char *option, struct search *search, uint64_t *id)
{
	struct cgroups *cgroups = cgroups_new(false);
	int err = 0;

	cgroups_visit(cgroups, find_outermost, search);
	if (!search->found && search->otherwise) {
		search->matches = search->otherwise;
		cgroups_visit(cgroups, find_outermost, search);
	}
	if (search->found)
		cgroups_visit(cgroups, find_other, search);
	if (!search->found)
		err = msg_error("%s %s: there is none (cgroup2 has none of that name)", option,
				search->name);
	else if (search->other)
		err = msg_error("%s %s: there are several, such as %s and %s (see --cgroup)",
				option, search->name, search->found->path, search->other->path);
	else
		*id = search->found->id;
	cgroups_free(cgroups);
	return err;
}

/* Who says "web" doesn't mean "web2", unless there is nothing else. */
int cgroup_find_container(const char *name, uint64_t *id)
{
	struct search search = { container_is, name, .otherwise = container_matches };

	return find("--container", &search, id);
}

static bool is_unit(const struct container *container, const char *name)
{
	return !strcmp(container->unit, name);
}

int cgroup_find_unit(const char *name, uint64_t *id)
{
	char *full = mem_printf("%s%s", name, strchr(name, '.') ? "" : ".service");
	struct search search = { is_unit, full };
	int err = find("--unit", &search, id);

	free(full);
	return err;
}
