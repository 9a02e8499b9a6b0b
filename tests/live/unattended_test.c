// SPDX-License-Identifier: GPL-2.0-only
/* Runs that nobody looks after: files by time, full disks, signals that are ignored. */
#include <sys/mount.h>
#include <sys/resource.h>

#include "live.h"

/* Each tool's files by time parse as names, are all there, and no more than are kept. */
TEST(files_by_time_are_kept_as_asked)
{
	const char *folder = folder_make();

	tool_run("runqlat", "--output", text_of("%s/r-%%Y%%m%%dT%%H%%M%%SZ.txt", folder), "--keep",
		 "2", "1s", "4");
	CHECK_EQ(folder_count(folder), 2);
}

TEST(a_percent_sign_in_a_name_is_no_time)
{
	const char *folder = folder_make(), *path = text_of("%s/%%%%.txt", folder);

	tool_run("runqlat", "--output", path, "100ms", "1");
	CHECK(file_read(text_of("%s/%%.001.txt", folder)));
	tool_run("profile", "--output", path, "100ms");
	tool_run("profile", "--output", path, "100ms");
	CHECK(file_read(text_of("%s/%%.txt", folder)));
}

TEST(a_second_run_overwrites_nothing)
{
	const char *folder = folder_make(), *path = text_of("%s/x.txt", folder);
	const char *first = text_of("%s/x.001.txt", folder), *before;
	struct proc *tool;

	tool_run("runqlat", "--output", path, "100ms", "2");
	before = file_read(first);
	tool = tool_try("runqlat", "--output", path, "100ms", "1");
	CHECK_STATUS(tool, 1);
	CHECK_HAS(tool->err, ".txt exists (remove it");
	CHECK_STR(file_read(first), before);
	CHECK_EQ(folder_count(folder), 2);
}

#define CONTAINER "3f4d1c0b6ae57e1d9f1c8b7a6d5e4f3021b0c9d8e7f6a5b4c3d2e1f00918273a"

TEST_UNLESS(cgroups_lack, a_container_is_named_and_what_is_none_is_refused)
{
	const char *cgroup = cgroup_make("docker-" CONTAINER ".scope");
	struct proc *work = work_start("pingpong", "101"), *tool;

	CHECK(cgroup_add(cgroup, work->pid));
	tool = trace_work(work, ARGV("runqlat", "--per-container"));
	CHECK(hist_count_of(tool->out, "container = " CONTAINER) > 0);
	CHECK_REFUSED("4f4d1c0b6ae5", "runqlat", "--container", "4f4d1c0b6ae5");
	CHECK_REFUSED("nothing.service", "runqlat", "--unit", "nothing");
}

/* The machine's own processes are in none: in JSON there is nothing then. */
TEST(what_is_in_no_container_has_no_id)
{
	struct proc *tool =
		tool_run("runqlat", "--per-container", "--format", "json", "300ms", "1");

	CHECK(lines_with(tool->out, "\"by\":\"container\",\"unit\":") == 1);
	CHECK_LACKS(tool->out, "\"container_id\":\"\"");
	tool = tool_run("runqlat", "--per-container", "300ms", "1");
	CHECK_EQ(lines_from(tool->out, "container = none"), 1);
	tool = tool_run("runqlat", "--per-container", "--format", "prometheus", "300ms", "1");
	CHECK(lines_with(tool->out, "_count{container_id=\"\"}") > 0);
}

static void check_group(const char *out, const char *comm, const char *cgroup)
{
	const char *line = strstr(out, text_of("\"comm\":\"%s\"", comm));

	if (!line) {
		UNIT_FAIL("no sample of %s", comm);
		return;
	}
	line = text_of("%.*s", (int)strcspn(line, "\n"), line);
	CHECK_HAS(line, text_of("\"cgroup\":\"%s\",\"container_id\":\"%s\",\"unit_name\":\"%s\"",
				strrchr(cgroup, '/'), CONTAINER, strrchr(cgroup, '/') + 1));
}

#define AS_JSON                                    \
	"--format", "json", "--", "/bin/sh", "-c", \
		"i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; sleep 0.1"

/* Formats for programs tell where each sample's thread ran. */
TEST_UNLESS(cgroups_lack, samples_tell_their_container)
{
	static const char *const tools[][10] = { { "profile", "-F", "499", AS_JSON },
						 { "offcputime", AS_JSON },
						 { "pagefaults", AS_JSON } };
	const char *in = cgroup_make("docker-" CONTAINER ".scope");
	struct proc *tool;

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		tool = tool_run_argv(join_cgroup, (void *)in, tools[i]);
		check_group(tool->out, "sh", in);
	}
	if (memleak_lacks())
		return;
	tool = tool_run_in(join_cgroup, (void *)in, "memleak", "--format", "json", "--",
			   work_path("leaky"), "all", "1");
	check_group(tool->out, "leaky", in);
}

/* A file system of its own that nobody else sees, and is full after 64 KiB. */
static bool mount_small(void *path)
{
	return enter_mount_namespace() && !mount("none", path, "tmpfs", 0, "size=64k");
}

static bool is_small_full(const struct proc *tool, const char *folder, bool fill)
{
	const char *path = text_of("/proc/%d/root%s/fill", (int)tool->pid, folder);
	char block[4096] = "";
	int fd;

	if (!fill)
		return !unlink(path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	while (fd >= 0 && write(fd, block, sizeof(block)) == sizeof(block))
		;
	close(fd);
	return errno == ENOSPC;
}

TEST(a_disk_that_fills_up_and_empties_again)
{
	const char *folder = folder_make();
	const char *path = text_of("%s/x.txt", folder);
	struct proc *tool = tool_launch_in(mount_small, (void *)folder,
					   ARGV("runqlat", "-v", "--output", path, "100ms"));

	if (!proc_wait_for(tool, ": attached\n") && tool->status == SETUP_FAILED)
		SKIP("no tmpfs can be mounted");
	CHECK(is_small_full(tool, folder, true));
	CHECK(proc_wait_for(tool, "report dropped, tracing continues"));
	proc_linger(tool, 500);
	CHECK(!tool->has_ended);
	CHECK_EQ(lines_with(tool->err, "report dropped"), 1);
	CHECK(is_small_full(tool, folder, false));
	CHECK(proc_wait_for(tool, "writable again"));
	tool_stop(tool);
	CHECK_HAS(tool->err, "reports dropped: write failed");
}

TEST(dropped_captures_are_counted_among_all_reports)
{
	const char *folder = folder_make();
	const char *path = text_of("%s/x.txt", folder), *line;
	struct proc *tool = tool_launch_in(mount_small, (void *)folder,
					   ARGV("runqlat", "-v", "--output", path, "--when",
						"cmd:true", "--cool-down", "0", "100ms"));
	unsigned int n_dropped = 0, n = 0;

	if (!proc_wait_for(tool, ": attached\n") && tool->status == SETUP_FAILED)
		SKIP("no tmpfs can be mounted");
	CHECK(is_small_full(tool, folder, true));
	CHECK(proc_wait_for(tool, "report dropped, tracing continues"));
	proc_linger(tool, 500);
	CHECK(is_small_full(tool, folder, false));
	CHECK(proc_wait_for(tool, "writable again"));
	tool_stop(tool);
	line = strstr(tool->err, " reports dropped: ");
	while (line && line > tool->err && line[-1] != '\n')
		line--;
	CHECK(line && sscanf(line, "runqlat: warning: %u of %u", &n_dropped, &n) == 2);
	CHECK(n_dropped > 0);
	CHECK(n >= n_dropped);
}

static bool ignore_hangup(void *arg)
{
	(void)arg;
	return signal(SIGHUP, SIG_IGN) != SIG_ERR && signal(SIGINT, SIG_IGN) != SIG_ERR;
}

/* As under nohup(1), and behind a script's "&". */
TEST(an_ignored_hangup_stays_ignored)
{
	struct proc *tool = tool_launch_in(ignore_hangup, NULL, ARGV("runqlat", "-v"));

	CHECK(proc_wait_for(tool, "tracing..."));
	proc_signal(tool, SIGHUP);
	proc_linger(tool, 300);
	CHECK(!tool->has_ended);
	proc_signal(tool, SIGINT);
	tool_finish(tool);
}

/* Returns the number of lines in a file. */
static size_t line_count(const char *path)
{
	const char *text = file_read(path);

	return text ? lines_with(text, "x") : 0;
}

/* Intervals pass until the condition holds. Only those around that moment have files. */
TEST(a_capture_has_the_intervals_around_its_moment)
{
	const char *folder = folder_make(), *other = folder_make();
	const char *count = text_of("%s/count", other), *flag = text_of("%s/flag", other), *text;
	struct proc *tool = tool_start("runqlat", "--interval", "100ms", "--output",
				       text_of("%s/r.json", folder), "--when",
				       text_of("cmd:echo x >> %s; test -e %s", count, flag),
				       "--before", "2", "--after", "1", "--once");

	while (line_count(count) < 8 && !tool->has_ended)
		proc_linger(tool, 10);
	CHECK(file_write(flag, ""));
	tool_finish(tool);
	CHECK_HAS(tool->err, "test -e");
	CHECK_HAS(tool->err, "captures: 1");
	CHECK_EQ(folder_count(folder), 4);
	for (int i = 1; i <= 4; i++) {
		text = file_read(text_of("%s/r.00%d.json", folder, i));
		CHECK(text && strstr(text, "{\"type\":\"run\"") == text);
		CHECK(text && strstr(text, "{\"type\":\"capture\",\"reason\":\"cmd:echo"));
	}
}

static bool lower_files_limit(void *arg)
{
	struct rlimit files;

	(void)arg;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return false;
	files.rlim_cur = 99;
	return !setrlimit(RLIMIT_NOFILE, &files);
}

/* The tool raises its own for the time of the run. */
TEST(commands_of_conditions_have_the_users_priority_and_limits)
{
	const char *folder = folder_make(), *said = text_of("%s/said", folder_make());
	struct proc *tool = tool_launch_in(lower_files_limit, NULL,
					   ARGV("runqlat", "--interval", "200ms", "--output",
						text_of("%s/r.txt", folder), "--when",
						text_of("cmd:read s < /proc/$$/stat; set -- $s; "
							"echo $(ulimit -n) ${19} >> %s; test -s %s",
							said, said),
						"--once", "--after", "0"));
	const char *expected = text_of("99 %d", getpriority(PRIO_PROCESS, 0)), *lines;

	tool_finish(tool);
	lines = file_read(said);
	CHECK_HAS(lines ? lines : "", expected);
	CHECK(lines && lines_with(lines, expected) == lines_with(lines, ""));
}

/* A captured series goes on: a second moment makes a second capture, with the next numbers. */
TEST(signals_begin_captures)
{
	const char *folder = folder_make();
	struct proc *work = work_start("pingpong", "101");
	struct proc *tool =
		tool_start_on(work, "runqlat", "--interval", "50ms", "--output",
			      text_of("%s/r.txt", folder), "--when", "signal", "--before", "0",
			      "--after", "0", "--cool-down", "0", "--captures", "2");

	proc_signal(tool, SIGUSR1);
	CHECK(proc_wait_for(tool, "capture 1 at"));
	while (folder_count(folder) < 1 && !tool->has_ended)
		proc_linger(tool, 10);
	proc_signal(tool, SIGUSR1);
	tool_finish(tool);
	CHECK_HAS(tool->err, "capture 2 at");
	CHECK_EQ(folder_count(folder), 2);
	CHECK_HAS(file_read(text_of("%s/r.002.txt", folder)), "# captured at ");
}

/* Otherwise the second moment would have no report, and --captures would never end. */
TEST(a_moment_during_a_capture_begins_the_next_one)
{
	struct proc *tool = tool_start("runqlat", "--interval", "50ms", "--output",
				       text_of("%s/r.txt", folder_make()), "--when", "signal",
				       "--after", "1000", "--cool-down", "0", "--captures", "3");

	proc_signal(tool, SIGUSR1);
	CHECK(proc_wait_for(tool, "capture 1 at"));
	proc_signal(tool, SIGUSR1);
	CHECK(proc_wait_for(tool, "capture 2 at"));
	tool_stop(tool);
	CHECK_HAS(tool->err, "captures: 2, conditions ignored in the cool-down: 0");
}

static const char *pressure_lacks(void)
{
	const char *lacks = cgroups_lack();

	if (!lacks && !file_read("/proc/pressure/cpu"))
		lacks = "the kernel has no pressure stall information";
	return lacks;
}

/* A stall is not longer than the time in which it was measured. */
static void check_pressure(const char *said)
{
	const char *at = strstr(said, "tasks stalled for ");
	double ms = 0, s = 0;

	CHECK(at && sscanf(at, "tasks stalled for %lf ms in %lf s (limit: ", &ms, &s) == 2);
	CHECK(ms > 0 && ms <= s * 1000 + 100);
}

/* Four threads on one CPU, in a cgroup of their own: at least three of them wait at any time. */
TEST_UNLESS(pressure_lacks, the_kernel_watches_the_pressure_of_a_cgroup)
{
	const char *folder = folder_make(), *path = cgroup_make("tracelets-pressure");
	struct proc *work = work_start("spin", "-t", "4", "-c", text_of("%d", usable_cpu(0)));
	struct proc *tool;

	CHECK(cgroup_add(path, work->pid));
	work_go(work);
	tool = tool_run("runqlat", "--cgroup", path, "--interval", "200ms", "--output",
			text_of("%s/r.csv", folder), "--when", "psi:cpu:50%", "--once");
	proc_kill(work);
	CHECK_HAS(tool->err, "psi:cpu:50%: tasks stalled for ");
	check_pressure(tool->err);
	CHECK(folder_count(folder) >= 3);
}

TEST_UNLESS(pressure_lacks, a_cgroup_that_returns_is_watched_again)
{
	const char *folder = folder_make(), *path = cgroup_make("tracelets-returns");
	struct proc *work,
		*tool = tool_start("runqlat", "--cgroup", path, "--interval", "200ms", "--output",
				   text_of("%s/r.csv", folder), "--when", "psi:cpu:50%");

	CHECK(cgroup_remove(path));
	CHECK(proc_wait_for(tool, "psi:cpu:50%: cgroup removed, "));
	CHECK(!mkdir(path, 0755));
	work = work_start("spin", "-t", "4", "-c", text_of("%d", usable_cpu(0)));
	CHECK(cgroup_add(path, work->pid));
	work_go(work);
	CHECK(proc_wait_for(tool, "psi:cpu:50%: tasks stalled for "));
	tool_stop(tool);
	proc_kill(work);
}

/* The stall goes on until the test ends. Threads that wait for work are idle all the time. */
static void check_stall(const char *reason, const char *condition, const char *said)
{
	const char *folder = folder_make();
	struct proc *work = work_start("stalls", reason, "600000");
	struct proc *tool = tool_start_on(work, "runqlat", "--interval", "100ms", "--output",
					  text_of("%s/r.txt", folder), "--when", condition,
					  "--cool-down", "0", "--before", "1", "--after", "0");

	work_go(work);
	CHECK(proc_wait_for(tool, said));
	tool_stop(tool);
	proc_kill(work);
	CHECK_HAS(tool->err, text_of("%s: service (%d) for ", condition, (int)work->pid));
	CHECK_LACKS(tool->err, "pool (");
	CHECK_LACKS(tool->err, "events (");
	CHECK(folder_count(folder) > 0);
}

TEST(a_stall_is_seen_while_it_lasts)
{
	check_stall("compute", "stall>200ms", "ms: on CPU ");
	check_stall("lock", "stall>200ms", "ms: blocked in futex");
	check_stall("lock", "wait>200ms", "ms: blocked in futex");
}

/* runqlat's intervals end within those of the tool, and are reported later. */
TEST(the_interval_of_a_late_condition_is_kept_without_any_before)
{
	const char *folder = folder_make();
	struct proc *work = work_start("spin", "-t", "2", "-c", text_of("%d", usable_cpu(0)));
	struct proc *tool = tool_start_on(work, "offcputime", "--interval", "200ms", "--output",
					  text_of("%s/r.txt", folder), "--when", "runq:max>100us",
					  "--once", "--before", "0", "--after", "0");

	proc_linger(tool, 1000);
	work_go(work);
	proc_finish(tool);
	CHECK_EQ(folder_count(folder), 3);
	proc_kill(work);
}

/* Two threads on one CPU: each waits for the other's slices. The last tool has all in one file. */
TEST(waits_for_a_cpu_are_seen_by_their_percentiles)
{
	static const char *const conditions[] = { "runq>5%", "runq:max>100us", "runq:p50>1h" };

	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		const char *folder = folder_make();
		struct proc *work =
			work_start("spin", "-t", "2", "-c", text_of("%d", usable_cpu(0)));
		struct proc *tool = tool_start_on(work, "offcputime", "--interval", "200ms",
						  "--output", text_of("%s/r.txt", folder), "--when",
						  conditions[i], "--once", "--after", "0");

		work_go(work);
		if (i < 2) {
			CHECK(proc_wait_for(tool, text_of("%s: ", conditions[i])));
			proc_finish(tool);
			CHECK(folder_count(folder) > 0);
		} else {
			proc_linger(tool, 1000);
			tool_stop(tool);
			CHECK_HAS(tool->err, "captures: 0, ");
		}
		proc_kill(work);
	}
}
