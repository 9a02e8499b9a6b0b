// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which tasks are traced, live: each filter in each kind of tool. Two workloads of one kind do the
 * same at the same time, and only one of them may be seen.
 */
#include <sys/mount.h>
#include <sys/prctl.h>

#include "live.h"

/* ---- the same filter in all tools ---- */

struct trio {
	struct proc *runqlat, *offcputime, *profile;
};

/* Starts all three with the same words of filter, ended by NULL. */
static struct trio start_all(const char *const filter[])
{
	const char *runqlat[16] = { "runqlat", "-P" }, *offcputime[16] = { "offcputime" };
	const char *profile[16] = { "profile", "-F", "499" };
	struct trio trio;

	for (int i = 0; i < 12 && filter[i]; i++) {
		runqlat[2 + i] = filter[i];
		offcputime[1 + i] = filter[i];
		profile[3 + i] = filter[i];
	}
	trio.runqlat = tool_start_argv(runqlat);
	trio.offcputime = tool_start_argv(offcputime);
	trio.profile = tool_start_argv(profile);
	return trio;
}

static void stop_all(struct trio *trio)
{
	tool_stop(trio->runqlat);
	tool_stop(trio->offcputime);
	tool_stop(trio->profile);
}

/* Returns the tools that have seen threads of that comm, as letters r, o, p. */
static const char *seen_by(const struct trio *trio, const char *comm)
{
	bool r = strstr(trio->runqlat->out, text_of(" %s\n", comm)) != NULL;
	bool o = folded_sum(trio->offcputime->out, comm, NULL);
	bool p = folded_sum(trio->profile->out, comm, NULL);

	return text_of("%s%s%s", r ? "r" : "", o ? "o" : "", p ? "p" : "");
}

static bool wait_for_all(const struct trio *trio, const char *text)
{
	return proc_wait_for(trio->runqlat, text) && proc_wait_for(trio->offcputime, text) &&
	       proc_wait_for(trio->profile, text);
}

/* A workload with a main thread of that name that naps and spins. */
static struct proc *start_kid(const char *comm)
{
	return work_start("plan", "1", "13", "2", "11", "0", comm);
}

/* Runs both workloads at once, and all tools with the filter. */
static struct trio trace_two(struct proc *wanted, struct proc *other, const char *const filter[])
{
	struct trio trio = start_all(filter);

	work_go(wanted);
	work_go(other);
	work_wait_done(wanted);
	work_wait_done(other);
	stop_all(&trio);
	return trio;
}

#define TRACE_TWO(wanted, other, ...) trace_two(wanted, other, ARGV(__VA_ARGS__))

TEST(one_process_is_traced_alone)
{
	struct proc *wanted = start_kid("wanted"), *other = start_kid("other");
	struct trio trio = TRACE_TWO(wanted, other, "-p", pid_text(wanted->pid));

	CHECK_STR(seen_by(&trio, "wanted"), "rop");
	CHECK_STR(seen_by(&trio, "other"), "");
	CHECK_EQ(lines_from(trio.runqlat->out, "pid = "), 1);
	CHECK_EQ(folded_count(trio.offcputime->out, NULL, NULL),
		 folded_count(trio.offcputime->out, "wanted", NULL));
	CHECK_EQ(folded_count(trio.profile->out, NULL, NULL),
		 folded_count(trio.profile->out, "wanted", NULL));
}

TEST(a_list_of_processes_is_traced)
{
	struct proc *first = start_kid("first"), *second = start_kid("second");
	struct proc *third = start_kid("third");
	struct trio trio;

	work_go(third);
	trio = TRACE_TWO(first, second, "-p", text_of("%d,%d", first->pid, second->pid));
	CHECK_STR(seen_by(&trio, "first"), "rop");
	CHECK_STR(seen_by(&trio, "second"), "rop");
	CHECK_STR(seen_by(&trio, "third"), "");
}

/* A process of that very number, which naps and works for a while. Waited for here. */
static bool run_stranger(pid_t pid)
{
	pid_t child = fork_as(pid);

	if (child < 0)
		return false;
	if (!child) {
		uint64_t end_ns;

		prctl(PR_SET_NAME, "stranger");
		usleep(20000);
		for (end_ns = clock_now_ns() + 100 * NS_PER_MS; clock_now_ns() < end_ns;)
			;
		_exit(0);
	}
	return waitpid(child, NULL, 0) == pid;
}

TEST(a_number_that_is_used_again_is_another_process)
{
	struct proc *wanted = start_kid("wanted"), *brief = start_kid("brief");
	const char *pids = text_of("%d,%d", wanted->pid, brief->pid);
	const char *ended = text_of("process %d has exited, no longer traced\n", brief->pid);
	struct trio trio = start_all(ARGV("-v", "-p", pids));
	int err;

	proc_kill(brief);
	CHECK(wait_for_all(&trio, ended));
	if (!run_stranger(brief->pid)) {
		err = errno;
		stop_all(&trio);
		SKIP("no process of that number: %s", strerror(err));
	}
	work_do(wanted);
	stop_all(&trio);
	CHECK_STR(seen_by(&trio, "stranger"), "");
	CHECK_STR(seen_by(&trio, "wanted"), "rop");
}

TEST(one_thread_is_traced_without_its_siblings)
{
	struct proc *work = work_start("plan", "3", "13", "2", "11");
	struct proc *tool = trace_work(work, ARGV("offcputime", "-t", pid_text(work->pid)));

	CHECK(folded_sum(tool->out, "plan-0", "plan_run") > 0);
	CHECK_EQ(folded_count(tool->out, NULL, "plan_run"),
		 folded_count(tool->out, "plan-0", "plan_run"));
}

TEST(threads_are_traced_by_tid_and_comm)
{
	for (int i = 0; i < 2; i++) {
		struct proc *wanted = start_kid("wanted"), *other = start_kid("wantedx");
		struct trio trio = TRACE_TWO(wanted, other, i ? "--tid" : "--comm",
					     i ? pid_text(wanted->pid) : "wanted");

		CHECK_STR(seen_by(&trio, "wanted"), "rop");
		CHECK_STR(seen_by(&trio, "wantedx"), "");
	}
}

/*
 * The wanted one is in the lower of two cgroups. The filter is the upper one's folder; or the lower
 * one, as tools show it, with the other one in the upper.
 */
static void check_cgroups(bool lower_only)
{
	const char *above = cgroup_make("f"), *below = cgroup_make("f/g");
	struct trio trio;
	struct proc *wanted = start_kid("wanted");
	struct proc *other = start_kid("other");

	CHECK(cgroup_add(below, wanted->pid));
	if (lower_only)
		CHECK(cgroup_add(above, other->pid));
	trio = TRACE_TWO(wanted, other, "--cgroup",
			 lower_only ? below + strlen(cgroup2_root()) : above);
	CHECK_STR(seen_by(&trio, "wanted"), "rop");
	CHECK_STR(seen_by(&trio, "other"), "");
}

TEST_UNLESS(cgroups_lack, a_cgroup_is_traced_with_those_below_it)
{
	check_cgroups(false);
}

TEST_UNLESS(cgroups_lack, a_cgroup_is_traced_without_the_one_above_it)
{
	check_cgroups(true);
}

/* ---- children ---- */

static struct trio trace_family(struct proc *work, const char *const filter[])
{
	struct trio trio = start_all(filter);

	work_do(work);
	stop_all(&trio);
	return trio;
}

/* As a service that is restarted. by_path: not by its name, but with --cgroup. */
static void check_restart(bool by_path)
{
	const char *cgroup = cgroup_make(by_path ? "path.service" : "name@9.6.service"), *name;
	struct proc *second;
	struct trio trio;
	struct proc *first = start_kid("first");

	CHECK(cgroup_add(cgroup, first->pid));
	name = strrchr(cgroup, '/') + 1;
	name = text_of("%.*s", (int)(strlen(name) - strlen(".service")), name); /* as is enough */
	trio = by_path ? start_all(ARGV("--cgroup", cgroup)) : start_all(ARGV("--unit", name));
	work_do(first);
	proc_kill(first);
	CHECK(cgroup_remove(cgroup));
	CHECK(wait_for_all(&trio, "cgroup removed"));
	CHECK(!mkdir(cgroup, 0755));
	second = start_kid("second");
	CHECK(cgroup_add(cgroup, second->pid));
	CHECK(wait_for_all(&trio, "new cgroup, traced"));
	work_do(second);
	stop_all(&trio);
	CHECK_STR(seen_by(&trio, "first"), "rop");
	CHECK_STR(seen_by(&trio, "second"), "rop");
}

TEST_UNLESS(cgroups_lack, a_cgroup_that_is_made_anew_is_traced)
{
	check_restart(true);
}

TEST_UNLESS(cgroups_lack, a_unit_that_is_restarted_is_traced)
{
	check_restart(false);
}

/*
 * The process waits before the tool sees the new cgroup, and doesn't wake up. The tool is stopped
 * until the process is in the cgroup: one that is moved later is seen only when it wakes up.
 */
static void check_waiting(const char *name, const char *option)
{
	const char *cgroup = cgroup_make(text_of("waiting%s", option));
	struct proc *tool, *work = start_kid("waiting");

	tool = tool_start(name, option, "--cgroup", cgroup);
	CHECK(cgroup_remove(cgroup));
	CHECK(proc_wait_for(tool, "cgroup removed"));
	proc_signal(tool, SIGSTOP);
	CHECK(!mkdir(cgroup, 0755));
	CHECK(cgroup_add(cgroup, work->pid));
	proc_signal(tool, SIGCONT);
	CHECK(proc_wait_for(tool, "new cgroup, traced"));
	proc_linger(tool, 100);
	tool_stop(tool);
	CHECK(folded_sum(tool->out, "waiting", "work_wait_go") >= 100000); /* us */
	CHECK_LACKS(tool->out, "throughout");
	proc_kill(work);
}

TEST_UNLESS(cgroups_lack, threads_that_wait_in_a_new_cgroup_are_seen)
{
	check_waiting("offcputime", "-f");
	check_waiting("profile", "--wall");
}

#define SAME "3f4d1c0b6ae5"
#define REST "000000000000000000000000000000000000000000000000000" /* but for one digit */

/* Its beginning was enough to find it; another one that begins so is another one. */
TEST_UNLESS(cgroups_lack, a_container_does_not_become_another_one)
{
	const char *wanted = cgroup_make("docker-" SAME "0" REST ".scope"), *other;
	struct proc *first, *second;
	struct trio trio = start_all(ARGV("--container", SAME));

	CHECK(cgroup_remove(wanted));
	other = cgroup_make("docker-" SAME "1" REST ".scope");
	CHECK(wait_for_all(&trio, "cgroup removed"));
	first = start_kid("other");
	CHECK(cgroup_add(other, first->pid));
	work_do(first);
	CHECK(!mkdir(wanted, 0755));
	CHECK(wait_for_all(&trio, "new cgroup, traced"));
	second = start_kid("wanted");
	CHECK(cgroup_add(wanted, second->pid));
	work_do(second);
	stop_all(&trio);
	CHECK_STR(seen_by(&trio, "other"), "");
	CHECK_STR(seen_by(&trio, "wanted"), "rop");
}

TEST(children_are_followed_when_asked_for)
{
	struct proc *work = work_start("family", "3");
	struct trio trio = trace_family(work, ARGV("--follow", "-p", pid_text(work->pid)));

	CHECK_STR(seen_by(&trio, "kid"), "rop");
	CHECK(folded_sum(trio.offcputime->out, "kid", "kid_main;kid_nap") >= 3 * 13 * 1000);
	CHECK(folded_sum(trio.profile->out, "kid", "kid_main;kid_spin") > 0);
	CHECK(folded_sum(trio.offcputime->out, "parent", NULL) > 0);
}

TEST(children_are_not_followed_otherwise)
{
	struct proc *work = work_start("family", "3");
	struct trio trio = trace_family(work, ARGV("-p", pid_text(work->pid)));

	CHECK_STR(seen_by(&trio, "kid"), "");
	CHECK(folded_sum(trio.offcputime->out, "parent", NULL) > 0);
}

/* The tools that show comms, with what makes them do so. */
static const char *const by_comm[][3] = {
	{ "offcputime", "-f" }, { "profile", "-f", "-F499" }, { "pagefaults", "-f" },
	{ "runqlat", "-P" },	{ "syscount", "-P", "-T99" },
};

static struct proc *run_family(const char *const tool[], const char *option)
{
	const char *argv[9] = { tool[0], tool[1], option }, **end = argv + 3;

	if (tool[2])
		*end++ = tool[2];
	*end++ = "--";
	*end++ = work_path("family");
	*end = "3";
	return tool_run_argv(NULL, NULL, argv);
}

TEST(children_of_a_command_are_followed_unless_asked_not_to)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_comm); i++) {
		CHECK_HAS(run_family(by_comm[i], "--quiet")->out, "kid");
		CHECK_LACKS(run_family(by_comm[i], "--no-follow")->out, "kid");
	}
}

TEST(all_of_what_a_followed_commands_child_waits_is_counted)
{
	struct proc *tool = tool_run("offcputime", "--", work_path("family"), "3");

	CHECK(folded_sum(tool->out, "kid", "kid_main;kid_nap") >= 3 * 13 * 1000);
}

/* ---- in a pid namespace ---- */

/*
 * The first processes of the namespace get the pids 2 and 3; the tool is its pid 1. Both want one
 * CPU, so that both wait. Returns true once the process has its name.
 */
static bool start_inside(const char *comm)
{
	const char *now, *name = text_of("%s\n", comm);
	pid_t pid = fork();

	if (pid == 0) {
		execl(work_path("spin"), "spin", "-n", comm, "-c", text_of("%d", usable_cpu(0)),
		      NULL);
		_exit(127);
	}
	do {
		usleep(1000);
		now = pid > 0 ? file_read(text_of("/proc/%d/comm", pid)) : NULL;
	} while (now && strcmp(now, name) != 0);
	return now;
}

static bool enter_pid_namespace(void *arg)
{
	return become_first_process(arg) && start_inside("two") && start_inside("three");
}

TEST_UNLESS(pid_namespaces_lack, a_pid_is_what_the_caller_sees)
{
	struct proc *tool =
		tool_run_in(enter_pid_namespace, NULL, "profile", "-F", "199", "-p", "2", "1");

	CHECK(folded_sum(tool->out, "two", "spin_outer;spin_hot") > 0);
	CHECK_EQ(folded_count(tool->out, "three", NULL), 0);
	CHECK_EQ(folded_count(tool->out, NULL, NULL), folded_count(tool->out, "two", NULL));
}

TEST_UNLESS(pid_namespaces_lack, a_namespaces_pids_are_shown_as_the_caller_sees_them)
{
	struct proc *tool =
		tool_run_in(enter_pid_namespace, NULL, "runqlat", "-P", "-p", "3,2", "1", "1");

	CHECK_EQ(lines_from(tool->out, "pid = 2 two"), 1);
	CHECK_EQ(lines_from(tool->out, "pid = 3 three"), 1);
	CHECK_EQ(lines_from(tool->out, "pid = "), 2);
	tool = tool_try_in(enter_pid_namespace, NULL, "offcputime", "-p", "99", "1");
	CHECK_STATUS(tool, 2);
	CHECK_HAS(tool->err, "99");
}

/* A process outside of the namespace that begins others all the time. */
static pid_t start_outside(const char *comm)
{
	pid_t pid = fork(), child;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, comm);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((child = fork()) >= 0) {
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		usleep(1000);
	}
	_exit(1);
}

/* All rows by process or thread, and what stands for those outside. */
static const struct {
	const char *argv[6], *name;
} with_others[] = {
	{ { "runqlat", "-P" }, "\npid = 0 [others]\n" },
	{ { "runqlat", "-L" }, "\ntid = 0 [others]\n" },
	{ { "runqlat", "-P", "--format", "json" }, "\"id\":0,\"comm\":\"[others]\"" },
	{ { "runqlat", "-P", "--format", "prometheus" }, "{pid=\"0\",comm=\"[others]\"" },
	{ { "syscount", "-P", "-T", "99" }, "\n0      [others]  " },
	{ { "syscount", "-P", "--format", "json" }, "\"pid\":0,\"comm\":\"[others]\"" },
	{ { "syscount", "-P", "--format", "prometheus" }, "{pid=\"0\",comm=\"[others]\"" },
	{ { "pagefaults", "-P" }, "       0 [others]\n" },
	{ { "pagefaults", "-P", "--format", "json" }, "\"pid\":0,\"comm\":\"[others]\"" },
	{ { "pagefaults", "-P", "--format", "prometheus" }, "pid=\"0\",comm=\"[others]\"" },
};

TEST_UNLESS(pid_namespaces_lack, processes_outside_of_the_pid_namespace_have_one_name)
{
	const pid_t outside[] = { start_outside("outside-1"), start_outside("outside-2") };

	for (size_t i = 0; i < sizeof(with_others) / sizeof(*with_others); i++) {
		const char *const *argv = with_others[i].argv;
		struct proc *tool = tool_run_in(enter_pid_namespace, NULL, argv[0], "--duration",
						"1s", argv[1], argv[2], argv[3]);

		CHECK_HAS(tool->out, with_others[i].name);
		CHECK_LACKS(tool->out, "outside-");
	}
	for (size_t i = 0; i < 2; i++) {
		kill(outside[i], SIGKILL);
		waitpid(outside[i], NULL, 0);
	}
}

TEST_UNLESS(pid_namespaces_lack, threads_outside_of_the_pid_namespace_that_are_not_traced_are_told)
{
	static const char text[] = "threads of other pid namespaces: not traced";
	struct proc *tool = tool_run_in(enter_pid_namespace, NULL, "runqlat", "300ms", "1");

	CHECK_HAS(tool->err, text);
	tool = tool_run_in(enter_pid_namespace, NULL, "offcputime", "-p", "2", "300ms");
	CHECK_LACKS(tool->err, text);
	tool = tool_run_in(enter_pid_namespace, NULL, "syscount", "-L", "300ms", "1");
	CHECK_LACKS(tool->err, text);
	CHECK_LACKS(tool_run("runqlat", "300ms", "1")->err, text);
}

/* More of them, one after the other, than there is room for at once. */
TEST_UNLESS(pid_namespaces_lack, children_are_followed_in_a_pid_namespace_however_many_there_were)
{
	const char *script = text_of("%s sharing %d >/dev/null; exec %s 1", work_path("calls"),
				     at_size(17000, 10), work_path("family"));
	struct proc *tool =
		tool_run_in(become_first_process, NULL, "offcputime", "--", "sh", "-c", script);

	CHECK(folded_sum(tool->out, "kid", "kid_main;kid_nap") >= 13 * 1000);
	CHECK_LACKS(tool->err, "not followed");
}
