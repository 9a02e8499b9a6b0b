// SPDX-License-Identifier: GPL-2.0-only
/* Names of cgroups by their ids, also of those that come and go. Needs root and cgroup2. */
#include <poll.h>
#include <sched.h>

#include "process/cgroups.h"
#include "child.h"
#include "silent.h"
#include "unit.h"

#define NAME "tracelets-cgroups-test"

static char folder[64];

/* Makes /NAME/docker/ID. False: it can't be. */
static bool make_folder(void)
{
	snprintf(folder, sizeof(folder), "/sys/fs/cgroup/unified/" NAME);
	if (mkdir(folder, 0755) && errno != EEXIST) {
		snprintf(folder, sizeof(folder), "/sys/fs/cgroup/" NAME);
		if (mkdir(folder, 0755) && errno != EEXIST)
			return false;
	}
	return true;
}

static uint64_t make_below(const char *name)
{
	char path[256];
	struct stat st = {};

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	mkdir(path, 0755);
	stat(path, &st);
	return st.st_ino;
}

static void remove_below(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	rmdir(path);
}

TEST(a_cgroup_that_is_gone_keeps_its_name)
{
	struct cgroups *cgroups;
	const struct cgroup *cgroup;
	uint64_t id, inner;

	if (!make_folder())
		SKIP("no cgroup can be made here");
	cgroups = cgroups_new(true);
	CHECK_EQ(poll(&(struct pollfd){ cgroups_fd(cgroups), POLLIN }, 1, 0), 0);
	id = make_below("web.service");
	inner = make_below("web.service/lxc");
	CHECK_EQ(poll(&(struct pollfd){ cgroups_fd(cgroups), POLLIN }, 1, 0), 1);
	cgroups_update(cgroups);
	remove_below("web.service/lxc");
	remove_below("web.service");
	cgroups_update(cgroups);
	cgroup = cgroups_find(cgroups, id);
	CHECK(cgroup && cgroup->is_gone);
	CHECK_STR(cgroup ? cgroup->path : NULL, "/" NAME "/web.service");
	cgroup = cgroups_find(cgroups, inner);
	CHECK(cgroup && cgroup->is_gone);
	CHECK_STR(cgroup ? cgroup->path : NULL, "/" NAME "/web.service/lxc");
	CHECK(!cgroups_find(cgroups, 1ULL << 60));
	cgroups_free(cgroups);
	rmdir(folder);
}

TEST(a_process_is_in_a_cgroup)
{
	char path[256], pid[16];
	uint64_t id;
	FILE *f;

	if (!make_folder())
		SKIP("no cgroup can be made here");
	id = make_below("app.service");
	snprintf(pid, sizeof(pid), "%d", getpid());
	snprintf(path, sizeof(path), "%s/app.service/cgroup.procs", folder);
	f = fopen(path, "w");
	CHECK(f && fputs(pid, f) >= 0 && !fclose(f));
	CHECK_EQ(cgroup_of_process(getpid()), id);
	CHECK_EQ(cgroup_of_process(1 << 30), 0);
	snprintf(path, sizeof(path), "%.*s/cgroup.procs", (int)(strlen(folder) - strlen(NAME) - 1),
		 folder);
	f = fopen(path, "w");
	CHECK(f && fputs(pid, f) >= 0 && !fclose(f));
	remove_below("app.service");
	rmdir(folder);
}

/* Ids are not given twice, names are. */
TEST(a_name_may_come_again)
{
	struct cgroups *cgroups;
	const struct cgroup *old, *new;
	uint64_t first, second;

	if (!make_folder())
		SKIP("no cgroup can be made here");
	cgroups = cgroups_new(true);
	first = make_below("x");
	cgroups_update(cgroups);
	remove_below("x");
	second = make_below("x");
	new = cgroups_find(cgroups, second);
	CHECK(first != second);
	CHECK(new && !new->is_gone);
	old = cgroups_find(cgroups, first);
	CHECK(old && old->is_gone);
	remove_below("x");
	cgroups_free(cgroups);
	rmdir(folder);
}

/* By the time that the first end is read, the last one is there and known. */
TEST(a_name_may_come_again_twice_at_once)
{
	struct cgroups *cgroups;
	const struct cgroup *old, *new;
	uint64_t first, third;

	if (!make_folder())
		SKIP("no cgroup can be made here");
	cgroups = cgroups_new(true);
	first = make_below("x");
	cgroups_update(cgroups);
	remove_below("x");
	make_below("x");
	remove_below("x");
	third = make_below("x");
	cgroups_update(cgroups);
	old = cgroups_find(cgroups, first);
	CHECK(old && old->is_gone);
	new = cgroups_find(cgroups, third);
	CHECK(new && !new->is_gone);
	remove_below("x");
	cgroups_update(cgroups);
	new = cgroups_find(cgroups, third);
	CHECK(new &&new->is_gone);
	cgroups_free(cgroups);
	rmdir(folder);
}

/* What the kernel keeps of events, at the most. */
static unsigned int max_events(void)
{
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	unsigned int n = 0;

	if (f && fscanf(f, "%u", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

TEST(what_went_while_events_were_lost_is_gone)
{
	unsigned int n = max_events();
	struct cgroups *cgroups;
	const struct cgroup *cgroup;
	uint64_t id, inner, last;

	if (!n || n > 32768 || !make_folder())
		SKIP("no cgroup can be made here, or not so many");
	cgroups = cgroups_new(true);
	id = make_below("x");
	inner = make_below("x/inner");
	cgroups_update(cgroups);
	for (unsigned int i = 0; i < n / 2; i++) {
		make_below("y");
		remove_below("y");
	}
	remove_below("x/inner");
	remove_below("x");
	last = make_below("z");
	cgroups_update(cgroups);
	cgroup = cgroups_find(cgroups, id);
	CHECK(cgroup && cgroup->is_gone);
	cgroup = cgroups_find(cgroups, inner);
	CHECK(cgroup && cgroup->is_gone);
	cgroup = cgroups_find(cgroups, last);
	CHECK(cgroup && !cgroup->is_gone);
	remove_below("z");
	cgroups_free(cgroups);
	rmdir(folder);
}

TEST(unwatched_cgroups_are_found_when_asked_for)
{
	struct cgroups *cgroups;
	const struct cgroup *cgroup;
	uint64_t id;

	if (!make_folder())
		SKIP("no cgroup can be made here");
	cgroups = cgroups_new(false);
	CHECK_EQ(cgroups_fd(cgroups), -1);
	id = make_below("docker-0.scope");
	cgroup = cgroups_find(cgroups, id);
	CHECK_STR(cgroup ? cgroup->container.unit : NULL, "");
	CHECK_STR(cgroup ? cgroup->path : NULL, "/" NAME "/docker-0.scope");
	remove_below("docker-0.scope");
	cgroups_free(cgroups);
	rmdir(folder);
}

/* ---- where there are no events ---- */

/* From now on, this process and its children have no more of something. */
static bool limit_to(const char *name, const char *value)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/user/%s", name);
	f = unshare(CLONE_NEWUSER) ? NULL : fopen(path, "we");
	return f && fputs(value, f) >= 0 && !fclose(f);
}

static bool can_limit(void)
{
	pid_t pid = fork();
	int status = 1;

	if (!pid)
		_exit(!limit_to("max_inotify_watches", "0"));
	waitpid(pid, &status, 0);
	return !status;
}

static void check_name(struct cgroups *cgroups, uint64_t id, const char *name, bool is_gone)
{
	const struct cgroup *cgroup = cgroups_find(cgroups, id);

	CHECK_STR(cgroup ? cgroup->path : NULL, name);
	CHECK_EQ(cgroup && cgroup->is_gone, is_gone);
}

/* Folders are looked for once in a second. */
static void check_blind(const char *wanted)
{
	int kept = keep_stderr();
	struct cgroups *cgroups = cgroups_new(true);
	uint64_t first = make_below("x"), second;
	char said[KEPT_MAX];

	check_name(cgroups, first, "/" NAME "/x", false);
	remove_below("x");
	second = make_below("y");
	usleep(1100000);
	check_name(cgroups, second, "/" NAME "/y", false);
	check_name(cgroups, first, "/" NAME "/x", true);
	remove_below("y");
	cgroups_free(cgroups);
	CHECK_STR(read_kept(kept, said), wanted);
}

static void check_without_instances(void)
{
	CHECK(limit_to("max_inotify_instances", "0"));
	check_blind("tracelets: warning: watching cgroups: Too many open files: some that end "
		    "before a report have no name (raise sysctl fs.inotify.max_user_instances)\n");
}

/* The root has the one watch that there is. */
static void check_without_watches(void)
{
	CHECK(limit_to("max_inotify_watches", "1"));
	check_blind("tracelets: warning: watching cgroups: No space left on device: some that end "
		    "before a report have no name (raise sysctl fs.inotify.max_user_watches)\n");
}

TEST(cgroups_are_found_and_let_go_of_without_inotify)
{
	if (!make_folder() || !can_limit())
		SKIP("no cgroup can be made here, or no user namespace");
	check_apart(check_without_instances);
	rmdir(folder);
}

TEST(cgroups_are_found_and_let_go_of_without_watches)
{
	if (!make_folder() || !can_limit())
		SKIP("no cgroup can be made here, or no user namespace");
	check_apart(check_without_watches);
	rmdir(folder);
}

static void check_root(const struct cgroup *cgroup, void *arg)
{
	*(bool *)arg |= !strcmp(cgroup->path, "/");
}

TEST(the_root_is_one)
{
	struct cgroups *cgroups = cgroups_new(false);
	bool found = false;

	cgroups_visit(cgroups, check_root, &found);
	cgroups_free(cgroups);
	if (!make_folder())
		SKIP("no cgroup2 here");
	rmdir(folder);
	CHECK(found);
}
