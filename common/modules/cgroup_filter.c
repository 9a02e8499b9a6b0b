// SPDX-License-Identifier: GPL-2.0-only
/* Filter by cgroup; see cgroup_filter.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/cgroup_filter.h"
#include "process/cgroups.h"
#include "run/bpfmap.h"

/* ---- cgroup names ---- */

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

/* ---- cgroup filter ---- */

#define LOOK_NS NS_PER_S /* period of the search for a replaced cgroup */

struct search {
	bool (*matches)(const struct container *container, const char *name);
	const char *name;
	bool (*otherwise)(const struct container *container, const char *name); /* fallback */
	const struct cgroup *found; /* the outermost match */
	const struct cgroup *other; /* a match that is not below `found`; NULL: none */
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

/* Searches the cgroups; the search's `found` and `other` are valid as long as `cgroups`. */
static void search_cgroups(struct cgroups *cgroups, struct search *search)
{
	cgroups_visit(cgroups, find_outermost, search);
	if (!search->found && search->otherwise) {
		search->matches = search->otherwise;
		cgroups_visit(cgroups, find_outermost, search);
	}
	if (search->found)
		cgroups_visit(cgroups, find_other, search);
}

static int refuse(const char *option, const struct search *search)
{
	if (!search->found)
		return msg_error("%s %s: not found (no cgroup2 directory has that name)", option,
				 search->name);
	return msg_error("%s %s: ambiguous: matches %s and %s (use --cgroup PATH)", option,
			 search->name, search->found->path, search->other->path);
}

static void set_found(struct cgroup_filter *filter, uint64_t id, char *folder)
{
	free(filter->folder);
	filter->folder = folder;
	filter->id = id;
}

/*
 * Sets the filter to the cgroup found. is_again: prints no error, since a removed cgroup may
 * return.
 */
static int find_named(struct cgroup_filter *filter, const char *option, struct search *search,
		      bool is_again)
{
	struct cgroups *cgroups = cgroups_new(false);
	int err = 0;

	search_cgroups(cgroups, search);
	if (search->found && !search->other) {
		set_found(filter, search->found->id,
			  mem_printf("%s%s", cgroups_root(), search->found->path));
		memcpy(filter->found_container, search->found->container.id, CONTAINER_ID_MAX);
	} else {
		err = is_again ? -ENOENT : refuse(option, search);
	}
	cgroups_free(cgroups);
	return err;
}

/* Prefers an exact match, "web", to a prefix of "web2". Later searches use the found id. */
static int find_container(struct cgroup_filter *filter, bool is_again)
{
	struct search search = { container_is, filter->container, .otherwise = container_matches };

	if (is_again)
		search = (struct search){ container_is, filter->found_container };
	return find_named(filter, "--container", &search, is_again);
}

static bool is_unit(const struct container *container, const char *name)
{
	return !strcmp(container->unit, name);
}

static int find_unit(struct cgroup_filter *filter, bool is_again)
{
	const char *suffix = container_is_unit_name(filter->unit) ? "" : ".service";
	char *full = mem_printf("%s%s", filter->unit, suffix);
	struct search search = { is_unit, full };
	int err = find_named(filter, "--unit", &search, is_again);

	free(full);
	return err;
}

/* Returns a cgroup's id: its inode number (kernfs_node.id, 64-bit inodes); 0: no cgroup. */
static uint64_t id_of_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) || !S_ISDIR(st.st_mode) ? 0 : st.st_ino;
}

/* Also accepts what the tools and /proc/PID/cgroup show: the path below the root of cgroup2. */
static char *resolve_path(const char *path)
{
	char *below = mem_printf("%s%s", cgroups_root() ?: "", path);
	char *folder = *path == '/' ? realpath(below, NULL) : NULL;

	free(below);
	return folder ? folder : realpath(path, NULL);
}

static int find_path(struct cgroup_filter *filter)
{
	char *folder = resolve_path(filter->path);
	struct statfs fs;
	uint64_t id;

	if (!folder || statfs(folder, &fs)) {
		msg_errno(-errno, "--cgroup %s", filter->path);
		free(folder);
		return -EINVAL;
	}
	id = fs.f_type == CGROUP2_SUPER_MAGIC ? id_of_folder(folder) : 0;
	set_found(filter, id, folder);
	return id ? 0
		  : msg_error("--cgroup %s: not a directory of the cgroup2 file system",
			      filter->path);
}

int cgroup_filter_find(struct cgroup_filter *filter)
{
	if (filter->path)
		return find_path(filter);
	if (filter->container)
		return find_container(filter, false);
	return filter->unit ? find_unit(filter, false) : 0;
}

/* ---- while tracing ---- */

static int tell_id(const struct cgroup_filter *filter)
{
	int fd = bpf_map__fd(map_find(filter->run, ".data.filter"));
	uint32_t zero = 0;

	return bpf_map_update_elem(fd, &zero, &filter->id, BPF_ANY)
		       ? msg_errno(-errno, "cgroup filter: map update failed")
		       : 0;
}

/*
 * Searches for the cgroup again, at its old path first, even if other cgroups match. False: not
 * found.
 */
static bool find_again(struct cgroup_filter *filter)
{
	filter->id = id_of_folder(filter->folder);
	if (filter->id)
		return true;
	if (filter->container)
		return !find_container(filter, true);
	return filter->unit && !find_unit(filter, true);
}

static enum loop_verdict on_tick(int fd, void *arg)
{
	struct cgroup_filter *filter = arg;
	uint64_t n_ticks;

	if (read(fd, &n_ticks, sizeof(n_ticks)) < 0 ||
	    (filter->id && id_of_folder(filter->folder) == filter->id))
		return LOOP_GO;
	if (find_again(filter)) {
		filter->run->capture.target.cgroup = filter->folder;
		if (tell_id(filter)) {
			filter->id = 0; /* retried when the timer expires again */
			return LOOP_GO;
		}
		filter->is_gone = false;
		if (filter->run->tool->start_more)
			filter->run->tool->start_more(filter->run);
		msg_info("%s: new cgroup, traced from now on", filter->folder);
	} else if (!filter->is_gone) {
		filter->is_gone = true;
		msg_info("%s: cgroup removed, waiting for it to return", filter->folder);
	}
	return LOOP_GO;
}

int cgroup_filter_start(struct cgroup_filter *filter, struct run *run)
{
	int err;

	filter->run = run;
	if (!filter->id)
		return 0;
	err = tell_id(filter);
	if (err)
		return err;
	filter->timer_fd = loop_every(run->loop, LOOK_NS, on_tick, filter);
	return filter->timer_fd < 0 ? msg_errno(filter->timer_fd, "timer: setup failed") : 0;
}

void cgroup_filter_free(struct cgroup_filter *filter)
{
	if (filter->timer_fd > 0)
		close(filter->timer_fd);
	free(filter->folder);
}
