// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thousands of processes that live for a millisecond or two: most are gone when the loader learns
 * of them, and still their stacks have the right names, from _start to the innermost function.
 */
#include <sys/mount.h>

#include "live.h"

#define LANES	"3"
#define NAP_US	300 /* each process sleeps once, at least that long */
#define LEAF	"main;brief_outer;brief_middle;brief_leaf"
#define UNKNOWN "[unknown]"

static int count_processes(void)
{
	return at_size(1499, 211);
}

/* Less than that share, in per mille, may have no name or no way to its outermost frame. */
static int most_missing(void)
{
	return at_size(10, 100);
}

/* Stacks without a frame, in the middle of exec, are none. */
static uint64_t sum_of_stacks(const char *text, const char *comm)
{
	return folded_sum_with(text, comm, ";");
}

/* nameless: how a frame begins that has no name. */
static void check_named(const struct proc *tool, const char *comm, const char *nameless)
{
	uint64_t all = sum_of_stacks(tool->out, comm);
	uint64_t unknown = folded_sum_with(tool->out, comm, nameless);

	CHECK(all > 0);
	if (unknown * 1000 > all * (uint64_t)most_missing())
		UNIT_FAIL("%s: %llu of %llu have frames with %s: %.2000s %s", tool->name,
			  (unsigned long long)unknown, (unsigned long long)all, nameless, tool->out,
			  tool->err);
}

/* All that is not on the way to main() is the dynamic linker's. */
static void check_whole(const struct proc *tool, const char *comm)
{
	uint64_t all = sum_of_stacks(tool->out, comm);
	uint64_t whole = folded_sum_with(tool->out, comm, ";_start") +
			 folded_sum_with(tool->out, comm, ";_dl_start_user");

	if ((all - whole) * 1000 > all * (uint64_t)most_missing())
		UNIT_FAIL("%s: %llu of %llu are whole: %.500s %s", tool->name,
			  (unsigned long long)whole, (unsigned long long)all, tool->out, tool->err);
}

/* Each process's stacks count apart. */
static const char *table_size(void)
{
	return text_of("%d", at_size(1 << 18, 1 << 16));
}

struct traced {
	struct proc *profile, *offcputime;
	uint64_t n;
};

/* In a cgroup, as what else runs here begins and ends, too. */
static const char *gather(const struct proc *work)
{
	const char *cgroup = cgroup_make("brief");

	CHECK(cgroup_add(cgroup, work->pid));
	return cgroup;
}

static struct traced trace(struct proc *work, int n)
{
	const char *cgroup = gather(work);
	struct traced t = {
		.profile = tool_start("profile", "-U", "-F", "997", "--stack-storage-size",
				      table_size(), "--cgroup", cgroup),
		.offcputime = tool_start("offcputime", "-U", "--stack-storage-size", table_size(),
					 "--cgroup", cgroup),
	};

	work_do(work);
	tool_stop(t.profile);
	tool_stop(t.offcputime);
	t.n = work_value(work->out, "starter", "ended");
	CHECK_EQ(t.n, n);
	return t;
}

static struct proc *start_brief(const char *program)
{
	return work_start("brief", text_of("%d", count_processes()), LANES, program);
}

TEST_UNLESS(cgroups_lack, processes_that_live_for_a_millisecond_have_their_names)
{
	struct traced t = trace(start_brief(NULL), count_processes());
	uint64_t asleep_us;

	check_named(t.profile, "brief", UNKNOWN);
	check_whole(t.profile, "brief");
	check_named(t.offcputime, "brief", UNKNOWN);
	check_whole(t.offcputime, "brief");
	CHECK(folded_sum(t.profile->out, "brief", LEAF) > 0);
	asleep_us = folded_sum(t.offcputime->out, "brief", LEAF ";work_sleep");
	if (asleep_us < t.n * NAP_US * (uint64_t)(1000 - most_missing()) / 1000)
		UNIT_FAIL("%llu us asleep are too few for %llu processes: %s",
			  (unsigned long long)asleep_us, (unsigned long long)t.n,
			  t.offcputime->err);
}

/* So few samples that each process gets its tables with its first one. */
TEST_UNLESS(cgroups_lack, those_that_few_samples_hit_have_their_names)
{
	struct proc *work = start_brief(NULL);
	struct proc *profile =
		trace_work(work, ARGV("profile", "-U", "-F", "199", "--stack-storage-size",
				      table_size(), "--cgroup", gather(work)));

	CHECK_EQ(work_value(work->out, "starter", "ended"), count_processes());
	check_named(profile, "brief", UNKNOWN);
	check_whole(profile, "brief");
	CHECK(folded_sum(profile->out, "brief", LEAF) > 0);
}

TEST_UNLESS(cgroups_lack, so_have_those_of_the_machine)
{
	struct traced t;

	if (access("/bin/true", X_OK))
		SKIP("no /bin/true");
	t = trace(start_brief("/bin/true"), count_processes());
	check_named(t.profile, "true", UNKNOWN);
	check_named(t.offcputime, "true", UNKNOWN);
}

#define INNER_COUNT 499

static const char *inner_folder;

/* A copy of the program that only this mount namespace has. */
static bool bring_inner(void *arg)
{
	const char *inner = text_of("%s/inner", inner_folder);

	return enter_mount_namespace() && !mount("none", inner_folder, "tmpfs", 0, NULL) &&
	       file_copy(arg, inner);
}

/* They are gone, but their parent is there: through its root the files are found. */
TEST_UNLESS(cgroups_lack, processes_in_a_mount_namespace_of_their_own_have_their_names_too)
{
	const char *path = realpath_of(work_path("brief")), *inner;
	struct proc *work;
	struct traced t;

	inner_folder = folder_make();
	inner = text_of("%s/inner", inner_folder);
	work = work_start_in(bring_inner, (void *)path, path,
			     ARGV("brief", text_of("%d", INNER_COUNT), LANES, inner));
	t = trace(work, INNER_COUNT);
	CHECK(access(inner, F_OK)); /* not here */
	check_named(t.profile, "inner", UNKNOWN);
	check_named(t.profile, "inner", "[inner+");
	check_whole(t.profile, "inner");
	check_named(t.offcputime, "inner", UNKNOWN);
	check_named(t.offcputime, "inner", "[inner+");
	check_whole(t.offcputime, "inner");
	CHECK(folded_sum(t.offcputime->out, "inner", LEAF ";work_sleep") > 0);
}
