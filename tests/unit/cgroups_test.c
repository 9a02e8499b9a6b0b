// SPDX-License-Identifier: GPL-2.0-only
/* Names of cgroups by their ids, also of those that come and go. Needs root and cgroup2. */
#include <poll.h>
#include <sched.h>

#include "process/cgroups.h"
#include "child.h"
#include "silent.h"
#include "unit.h"

static char top[32]; /* of the folder of this run */

static char folder[64];
static struct cgroups *cgroups;

/* Makes the folder. */
static const char *folder_lacks(void)
{
	snprintf(top, sizeof(top), "/tracelets-test-%d", getpid());
	snprintf(folder, sizeof(folder), "/sys/fs/cgroup/unified%s", top);
	if (mkdir(folder, 0755) && errno != EEXIST) {
		snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s", top);
		if (mkdir(folder, 0755) && errno != EEXIST)
			return "no cgroup can be made here";
	}
	return NULL;
}

AFTER_EACH()
{
	cgroups_free(cgroups);
	cgroups = NULL;
	rmdir(folder);
}

/* "PATH", "PATH (gone)" or ""; the path is below the folder. */
static const char *found(uint64_t id)
{
	const struct cgroup *cgroup = cgroups_find(cgroups, id);
	size_t n = strlen(top);

	if (!cgroup)
		return "";
	CHECK(!strncmp(cgroup->path, top, n));
	return until_end(mem_printf("%s%s", cgroup->path + n, cgroup->is_gone ? " (gone)" : ""));
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

static int count_events(void)
{
	return poll(&(struct pollfd){ cgroups_fd(cgroups), POLLIN }, 1, 0);
}

TEST_UNLESS(folder_lacks, a_cgroup_that_is_gone_keeps_its_name)
{
	uint64_t id, inner;

	cgroups = cgroups_new(true);
	id = make_below("web.service");
	inner = make_below("web.service/lxc");
	CHECK_EQ(count_events(), 1);
	cgroups_update(cgroups);
	remove_below("web.service/lxc");
	remove_below("web.service");
	cgroups_update(cgroups);
	CHECK_STR(found(id), "/web.service (gone)");
	CHECK_STR(found(inner), "/web.service/lxc (gone)");
	CHECK_STR(found(1ULL << 60), "");
}

static void enter(const char *cgroup)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	f = fopen(path, "w");
	CHECK(f && fprintf(f, "%d", getpid()) > 0 && !fclose(f));
}

TEST_UNLESS(folder_lacks, a_process_is_in_a_cgroup)
{
	char inner[256];
	uint64_t id;

	id = make_below("app.service");
	snprintf(inner, sizeof(inner), "%s/app.service", folder);
	enter(inner);
	CHECK_EQ(cgroup_of_process(getpid()), id);
	CHECK_EQ(cgroup_of_process(1 << 30), 0);
	snprintf(inner, sizeof(inner), "%s/..", folder);
	enter(inner);
	remove_below("app.service");
}

/* Ids are not given twice, names are. */
TEST_UNLESS(folder_lacks, a_name_may_come_again)
{
	uint64_t first, second;

	cgroups = cgroups_new(true);
	first = make_below("x");
	cgroups_update(cgroups);
	remove_below("x");
	second = make_below("x");
	CHECK(first != second);
	CHECK_STR(found(second), "/x");
	CHECK_STR(found(first), "/x (gone)");
	remove_below("x");
}

/* By the time that the first end is read, the last one is there and known. */
TEST_UNLESS(folder_lacks, a_name_may_come_again_twice_at_once)
{
	uint64_t first, third;

	cgroups = cgroups_new(true);
	first = make_below("x");
	cgroups_update(cgroups);
	remove_below("x");
	make_below("x");
	remove_below("x");
	third = make_below("x");
	cgroups_update(cgroups);
	CHECK_STR(found(first), "/x (gone)");
	CHECK_STR(found(third), "/x");
	remove_below("x");
	cgroups_update(cgroups);
	CHECK_STR(found(third), "/x (gone)");
}

/* Returns the kernel's limit of queued inotify events; 0 if unknown. */
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

TEST_UNLESS(folder_lacks, what_went_while_events_were_lost_is_gone)
{
	unsigned int n = max_events();
	uint64_t id, inner, last;

	if (!n || n > 32768)
		SKIP("not so many cgroups can be made");
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
	CHECK_STR(found(id), "/x (gone)");
	CHECK_STR(found(inner), "/x/inner (gone)");
	CHECK_STR(found(last), "/z");
	remove_below("z");
}

TEST_UNLESS(folder_lacks, unwatched_cgroups_are_found_when_asked_for)
{
	uint64_t id;

	cgroups = cgroups_new(false);
	CHECK_EQ(cgroups_fd(cgroups), -1);
	id = make_below("docker-0.scope");
	CHECK_STR(found(id), "/docker-0.scope");
	CHECK_STR(cgroups_find(cgroups, id)->container.unit, "");
	remove_below("docker-0.scope");
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

/* Folders are looked for once in a second. */
static void check_blind(const char *wanted)
{
	const char *said = SAID({
		uint64_t first, second;

		cgroups = cgroups_new(true);
		first = make_below("x");
		CHECK_STR(found(first), "/x");
		remove_below("x");
		second = make_below("y");
		usleep(1100000);
		CHECK_STR(found(second), "/y");
		CHECK_STR(found(first), "/x (gone)");
		remove_below("y");
	});

	CHECK_STR(said, wanted);
}

static void check_without_instances(void)
{
	CHECK(limit_to("max_inotify_instances", "0"));
	check_blind("tracelets: warning: cgroup watch: Too many open files: cgroups removed "
		    "before a report have no name (raise sysctl fs.inotify.max_user_instances)\n");
}

/* The root has the one watch that there is. */
static void check_without_watches(void)
{
	CHECK(limit_to("max_inotify_watches", "1"));
	check_blind("tracelets: warning: cgroup watch: No space left on device: cgroups removed "
		    "before a report have no name (raise sysctl fs.inotify.max_user_watches)\n");
}

TEST_UNLESS(folder_lacks, cgroups_are_found_and_let_go_of_without_inotify)
{
	if (!can_limit())
		SKIP("no user namespace");
	check_apart(check_without_instances);
	check_apart(check_without_watches);
}

static void check_root(const struct cgroup *cgroup, void *arg)
{
	*(bool *)arg |= !strcmp(cgroup->path, "/");
}

TEST_UNLESS(folder_lacks, the_root_is_one)
{
	bool is_there = false;

	cgroups = cgroups_new(false);
	cgroups_visit(cgroups, check_root, &is_there);
	CHECK(is_there);
}
