// SPDX-License-Identifier: GPL-2.0-only
/*
 * profile, live. The measure is how often the kernel has sampled the workload on its own behalf, at
 * the same rate.
 */
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/resource.h>

#include <bpf/bpf.h>

#include "live.h"

#define ROWS 65536 /* of a table */

/*
 * n are as many samples as the kernel counted for the workload itself. An emulated CPU that stands
 * still for a moment loses samples of both, but not always the same number.
 */
static void check_samples(uint64_t n, const char *out, const char *comm)
{
	uint64_t expected = work_value(out, comm, "samples");

	if (n + 3 < expected || n > expected + 3) /* few are neither much nor little */
		CHECK_CLOSE(n, expected, (uint64_t)at_size(50, 200));
}

/* It begins to count in spin_thread(). */
static void check_spin(const char *samples, const char *out, const char *comm)
{
	uint64_t all = folded_sum(samples, comm, "spin_thread;spin_outer");
	uint64_t hot = folded_sum(samples, comm, "spin_thread;spin_outer;spin_hot");

	check_samples(all, out, comm);
	if (hot < all - all / (uint64_t)at_size(20, 5))
		UNIT_FAIL("%llu of %llu are in spin_hot: %s", (unsigned long long)hot,
			  (unsigned long long)all, samples);
}

TEST(samples_are_cpu_time_times_frequency)
{
	struct proc *tool = tool_run("profile", "-F", "499", "--", work_path("spin"), "-r", "-m",
				     "1200", "-s", "499", "-c", text_of("%d", usable_cpu(0)));

	CHECK(folded_is_sane(tool->out));
	CHECK_EQ(folded_sum(tool->out, NULL, NULL), truth_value(tool));
	check_spin(tool->out, tool->out, "spin");
}

TEST(each_thread_has_its_samples)
{
	struct proc *work, *tool;

	if (usable_cpus() < 2)
		SKIP("there is one CPU only");
	work = work_start("spin", "-r", "-t", "2", "-m", "600", "-s", "499");
	tool = trace_pid(work, "profile", "-F", "499");
	check_spin(tool->out, work->out, "spin-0");
	check_spin(tool->out, work->out, "spin-1");
}

TEST(a_period_is_in_ns_of_cpu_clock)
{
	struct proc *tool = tool_run("profile", "--event", "cpu-clock", "-c", "2087293", "--",
				     work_path("spin"), "-r", "-m", "600", "-p", "2087293");

	check_spin(tool->out, tool->out, "spin");
}

TEST(samples_that_would_starve_the_machine_are_refused)
{
	CHECK_FAILS("at least 50000 ns", "profile", "--event", "cpu-clock", "-c", "49999", "10ms");
	CHECK_FAILS("at most 20000 Hz", "profile", "--event", "cpu-clock", "-F", "20001", "10ms");
}

TEST(a_machine_that_counts_no_cycles_says_so)
{
	struct proc *tool = tool_try("profile", "--event", "cycles", "-v", "100ms");

	if (tool->status == 0) {
		CHECK_HAS(tool->err, "sampling cycles at 99 Hz\n");
		return;
	}
	CHECK_STATUS(tool, 1);
	CHECK_STR(tool->out, "");
	CHECK_EQ(lines_with(tool->err, "not supported by this machine"), 1);
	tool = tool_run("profile", "-v", "100ms");
	CHECK_EQ(lines_with(tool->err, "sampling cpu-clock at 99 Hz"), 1);
}

/*
 * A leaf of the tree has a stack of its own. Some leaves get two samples, some none: were they
 * dealt out by chance, there would be more stacks than this. Programs of other tests may prevent
 * samples; the tool reports how many.
 */
TEST(no_sample_of_many_stacks_is_lost)
{
	int levels = at_size(15, 11);
	const char *hz = text_of("%d", at_size(4999, 1999));
	struct proc *tool =
		tool_run("profile", "-U", "-F", hz, "--", work_path("tree"), text_of("%d", levels),
			 "spin", text_of("%d", at_size(110, 500)), hz);
	uint64_t samples = folded_sum(tool->out, "tree", "leaf;leaf_spin");
	uint64_t stacks = folded_count(tool->out, "tree", "leaf;leaf_spin"), leaves = 1u << levels;
	double lost = said_percent(tool, " % of samples lost: another BPF program was running");

	CHECK(folded_is_sane(tool->out));
	CHECK_NOTHING_FULL(tool);
	CHECK(stackless_percent(tool) < 50);
	CHECK_EQ(folded_sum(tool->out, NULL, NULL), truth_value(tool));
	CHECK(lost < 20);
	check_samples((uint64_t)((double)folded_sum(tool->out, "tree", "main;walk_leaves") /
				 (1 - lost / 100)),
		      tool->out, "tree");
	if (stacks <= leaves * samples / (leaves + samples))
		UNIT_FAIL("%d stacks only in %d samples of %d leaves", (int)stacks, (int)samples,
			  (int)leaves);
}

/*
 * A stack is taken out as soon as there is one, on a busy machine late: few may be shown. The
 * command's beginning is among the samples, too.
 */
TEST(a_full_table_is_told_with_its_share)
{
	struct proc *tool =
		tool_run("profile", "-U", "-F", "787", "--stack-storage-size", "1", "--format",
			 "json", "--", work_path("tree"), "9", "spin", "800", "787");
	double percent = said_percent(tool, " % of samples lost: map full\n");
	uint64_t shown = json_sum(tool->out, "stack", "value");
	uint64_t all = shown + json_sum(tool->out, "run", "lost");
	uint64_t expected = work_value(tool->out, "tree", "samples");

	CHECK_HAS(tool->err, "hint: raise --stack-storage-size\n");
	CHECK(shown > 0 && percent > 0 && percent < 100);
	CHECK(all >= expected - expected / (uint64_t)at_size(20, 5) && all < 2 * expected);
}

TEST(equal_stacks_of_several_processes_are_one_line)
{
	struct proc *work = work_start("family", "5");
	struct proc *tool =
		trace_pid(work, "profile", "-U", "-F", "499", "--follow", "--comm", "kid");

	CHECK(folded_is_sane(tool->out));
	CHECK(folded_sum(tool->out, "kid", "kid_main;kid_spin") >= 3); /* of 50 */
	CHECK(folded_sum(tool->out, "kid", "[unknown]") < folded_sum(tool->out, "kid", NULL) / 5);
}

/* Both are in the cgroup that it looks at. */
TEST_UNLESS(cgroups_lack, intervals_add_up_and_the_tool_is_not_in_them)
{
	const char *cgroup = cgroup_make("both");
	struct proc *work = work_start("tree", "12", "spin", "500", "787");
	struct proc *tool = tool_launch_in(join_cgroup, (void *)cgroup,
					   ARGV("profile", "-v", "-U", "-F", "787", "--interval",
						"2ms", "--cgroup", cgroup));

	CHECK(cgroup_add(cgroup, work->pid));
	CHECK(proc_wait_for(tool, ": attached\n"));
	work_do(work);
	tool_stop(tool);
	CHECK(lines_with(tool->out, "tree;") > 1000);
	CHECK_NOTHING_FULL(tool);
	CHECK(stackless_percent(tool) < 50);
	CHECK_EQ(folded_sum(tool->out, NULL, NULL), truth_value(tool));
	check_samples(folded_sum(tool->out, "tree", "main;walk_leaves"), work->out, "tree");
	CHECK_EQ(folded_sum(tool->out, "profile", NULL), 0);
}

/* getrusage() is called all the time: some samples are in the kernel. */
static struct proc *profile_kernel_time(const char *option)
{
	const char *cpu = text_of("%d", usable_cpu(0));

	return tool_run("profile", option, "-F", "4999", "--", work_path("states"), cpu);
}

TEST(kernel_frames_are_marked_and_delimited)
{
	struct proc *tool = profile_kernel_time("-a");

	CHECK(lines_with(tool->out, "_[k] ") > 0);
	CHECK_EQ(lines_with(tool->out, ";state_spin_[k]"), 0);
	CHECK(lines_with(tool->out, ";state_spin") > 0);
	tool = profile_kernel_time("-d");
	CHECK(lines_with(tool->out, ";-;") > 0);
	CHECK_EQ(lines_with(tool->out, "_[k]"), 0);
}

TEST(the_tracers_own_frames_are_not_shown)
{
	struct proc *tool = profile_kernel_time("-K");

	CHECK(folded_sum(tool->out, NULL, NULL) > 0);
	CHECK_LACKS(tool->out, "bpf_get_stack");
	CHECK_LACKS(tool->out, "bpf_overflow_handler");
	CHECK(!folded_has_program(tool->out, "profile_"));
	CHECK_LACKS(tool->out, "__bpf_prog_enter");
	CHECK_LACKS(tool->out, "__bpf_prog_exit");
}

TEST(cpus_can_be_kept_apart)
{
	int cpu = usable_cpu(0);
	struct proc *tool = tool_run("profile", "--per-cpu", "-F", "199", "--", work_path("spin"),
				     "-m", "500", "-c", text_of("%d", cpu));
	uint64_t all = folded_sum(tool->out, "spin", NULL);

	CHECK(folded_is_sane(tool->out));
	CHECK(all > 0);
	CHECK_EQ(lines_from(tool->out, text_of("cpu%d;spin;", cpu)) +
			 lines_from(tool->out, text_of("cpu%d;profile;", cpu)),
		 lines_from(tool->out, text_of("cpu%d;", cpu)));
	CHECK(lines_from(tool->out, text_of("cpu%d;spin;", cpu)) > 0);
}

TEST(one_cpu_can_be_sampled_alone)
{
	const char *first = text_of("%d", usable_cpu(0)), *second = text_of("%d", usable_cpu(1));
	struct proc *tool;

	if (usable_cpus() < 2)
		SKIP("there is one CPU only");
	tool = tool_run("profile", "-C", first, "-F", "199", "--", work_path("spin"), "-r", "-m",
			"500", "-s", "199", "-c", first);
	check_spin(tool->out, tool->out, "spin");
	tool = tool_run("profile", "-C", second, "-F", "199", "--", work_path("spin"), "-r", "-m",
			"500", "-s", "199", "-c", first);
	CHECK(folded_sum(tool->out, "spin", NULL) < work_value(tool->out, "spin", "samples") / 5);
}

/* Idle time of all CPUs, in ticks (proc_stat(5)). */
static unsigned long idle_ticks(void)
{
	unsigned long ticks = 0;
	FILE *f = fopen("/proc/stat", "re");

	if (f && fscanf(f, "cpu %*u %*u %*u %lu", &ticks) != 1)
		ticks = 0;
	if (f)
		fclose(f);
	return ticks;
}

TEST(the_idle_task_is_shown_when_asked_for)
{
	struct proc *tool = tool_run("profile", "-F", "199", "500ms");
	unsigned long ticks;

	CHECK_LACKS(tool->out, "swapper/");
	tool = tool_start("profile", "-I", "-F", "199");
	ticks = idle_ticks();
	proc_linger(tool, 2000);
	ticks = idle_ticks() - ticks;
	tool_stop(tool);
	if (ticks > 20)
		CHECK_HAS(tool->out, "swapper/");
	else
		SKIP("the machine is not idle for a moment");
}

/* ---- symbols ---- */

#define KPTR_RESTRICT "/proc/sys/kernel/kptr_restrict"

/* Root without CAP_SYSLOG: exec gives it no capability that is out of bounds. */
static bool drop_syslog(void *arg)
{
	(void)arg;
	return !prctl(PR_CAPBSET_DROP, CAP_SYSLOG, 0, 0, 0);
}

/*
 * The number of frames in folded stacks that aren't names of code in /proc/kallsyms. Inside of what
 * runs BPF programs they may be those of others, which come and go.
 */
static int unknown_frames(const char *folded, const char *kallsyms)
{
	char *copy = strdup(folded), *save = NULL;
	int n = 0;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *frames = strchr(line, ';'), *end = strrchr(line, ' '), *last = NULL;

		if (!frames || !end)
			continue;
		*end = '\0';
		for (char *frame = strtok_r(frames, ";", &last); frame && !strstr(frame, "bpf_");
		     frame = strtok_r(NULL, ";", &last))
			n += !strstr(kallsyms,
				     text_of(" %.*s\n", (int)strcspn(frame, " "), frame)) &&
			     !strstr(kallsyms, text_of(" %.*s\t", (int)strcspn(frame, " "), frame));
	}
	free(copy);
	return n;
}

/* Kernel frames have names, also if the kernel hides its addresses from all but a few. */
TEST(kernel_frames_have_the_kernels_names)
{
	const char *kallsyms = file_read("/proc/kallsyms"), *cpu = text_of("%d", usable_cpu(0));
	const char *before = file_read(KPTR_RESTRICT);
	struct proc *tool;

	if (before)
		file_write(KPTR_RESTRICT, "1\n");
	tool = tool_run_in(drop_syslog, NULL, "profile", "-K", "-F", "4999", "--interval", "100ms",
			   "--", work_path("states"), cpu);
	if (before)
		file_write(KPTR_RESTRICT, before);
	CHECK(folded_count(tool->out, NULL, NULL) > 1);
	CHECK(lines_with(tool->out, ";do_syscall") > 0 || lines_with(tool->out, ";el0") > 0);
	CHECK_LACKS(tool->out, "+0x");
	CHECK_EQ(unknown_frames(tool->out, kallsyms), 0);
}

/*
 * Missing kernel symbols are reported once for all reports, and not at all without kernel frames.
 * The iterator that reads symbols needs a link; perf events don't, as before Linux 5.15.
 */
TEST(a_kernel_that_tells_no_names_is_told_of_once)
{
	struct forbidden_call links = { SYS_bpf, BPF_LINK_CREATE };
	static const char line[] =
		"profile: warning: kernel symbols: not available: Operation not permitted "
		"(kernel frames print as addresses)\n";
	const char *cpu = text_of("%d", usable_cpu(0));
	struct proc *tool =
		tool_try_in(forbid_call, &links, "profile", "-K", "-F", "4999", "--interval",
			    "100ms", "--no-follow", "--", work_path("states"), cpu);

	if (tool->status == SETUP_FAILED)
		SKIP("no seccomp");
	CHECK_STATUS(tool, 0);
	CHECK(lines_with(tool->out, ";0x") > 1);
	CHECK_EQ(lines_with(tool->err, "symbols"), 1);
	CHECK_HAS(tool->err, line);
	tool = tool_run_in(forbid_call, &links, "profile", "-U", "--unwind=fp", "-F", "4999",
			   "--no-follow", "--", work_path("states"), cpu);
	CHECK_LACKS(tool->err, "symbols");
}

/* A thread's name may hold any byte. */
TEST(a_hostile_comm_is_text_in_all_formats)
{
	static const struct {
		const char *format, *comm;
	} cases[] = {
		{ "folded", "\n<&\"\\x3b\\x0a\\x1b[2J\\xff';" },
		{ "text", "    <&\";\\x0a\\x1b[2J\\xff' (" },
		{ "json", "\"comm\":\"<&\\\";\\u000a\\u001b[2J\\\\xff'\"" },
		{ "svg", ">&lt;&amp;&quot;;\\x0a\\x1b[2J\\xff&#39; (" },
	};
	const char *path = text_of("%s/result", folder_make());

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *result;

		tool_run("profile", "-F", "499", "--output", path, "--format", cases[i].format,
			 "--", work_path("spin"), "-m", "100", "-n", "<&\";\n\x1b[2J\xff'");
		result = file_read(path);
		CHECK(result);
		if (!result)
			continue;
		CHECK_HAS(text_of("\n%s", result), cases[i].comm);
		CHECK_LACKS(result, "\x1b");
		CHECK_LACKS(result, "\xff");
	}
}

/* ---- what fails for a while ---- */

static void set_files(const struct proc *tool, rlim_t n)
{
	struct rlimit limit;

	CHECK_EQ(prlimit(tool->pid, RLIMIT_NOFILE, NULL, &limit), 0);
	limit.rlim_cur = n ? n : limit.rlim_max;
	CHECK_EQ(prlimit(tool->pid, RLIMIT_NOFILE, &limit, NULL), 0);
}

#define UNNAMED "\"0xffff"

/*
 * Counts kernel addresses without a name in one JSON text that have none in another, either. New
 * ones in the other do not count: BPF programs of other tracers come and go.
 */
static int still_unnamed(const char *before, const char *after)
{
	int n = 0;

	for (const char *at = before; (at = strstr(at, UNNAMED)); at++)
		n += !!strstr(after, text_of("%.*s\"", (int)strcspn(at + 1, "\"") + 1, at));
	return n;
}

/* The kernel is asked through a file. */
TEST(names_of_the_kernel_that_could_not_be_had_are_asked_for_again)
{
	const char *rounds = text_of("%d", at_size(20011, 2003));
	struct proc *first = work_start("pingpong", rounds);
	struct proc *second = work_start("pingpong", rounds);
	struct proc *tool =
		tool_start("profile", "-K", "-F", "1999", "--format", "json", "--interval", "200ms",
			   "-p", text_of("%d,%d", first->pid, second->pid));
	const char *unnamed;
	size_t before;

	wait_for_reports(tool, 2);
	set_files(tool, 4);
	work_do(first);
	wait_for_reports(tool, 2);
	set_files(tool, 0);
	unnamed = text_of("%s", tool->out);
	CHECK_HAS(unnamed, UNNAMED);
	wait_for_reports(tool, 3);
	before = tool->out_bytes;
	work_do(second);
	wait_for_reports(tool, 2);
	tool_stop(tool);
	CHECK_HAS(tool->out + before, "pipe_");
	CHECK_EQ(still_unnamed(unnamed, tool->out + before), 0);
}

static void wait_for_name(struct proc *tool, const char *name)
{
	for (int i = 0; i < 20 && !strstr(tool->out, name); i++)
		wait_for_reports(tool, 1);
	CHECK_HAS(tool->out, name);
}

/* Another BPF program can be loaded where one was freed. */
TEST(a_kernel_address_has_the_name_that_it_has_now)
{
	struct proc *work = work_start("reloads");
	struct proc *tool = tool_start("profile", "-K", "-F", "1999", "--format", "json",
				       "--interval", "300ms", "-p", pid_text(work->pid));
	const char *second;

	work_go(work);
	wait_for_name(tool, "_reloads_first\"");
	work_go(work);
	CHECK(proc_wait_for(work, " at "));
	if (work_value(work->out, NULL, "at"))
		wait_for_name(tool, "_reloads_second\"");
	work_do(work);
	tool_stop(tool);
	if (!work_value(work->out, NULL, "at"))
		SKIP("no program could be loaded at the address of another");
	second = strstr(tool->out, "_reloads_second\"");
	CHECK(!second || !strstr(second, "_reloads_first\""));
}

/* In many calls that have the CPU for themselves: no BPF program runs meanwhile. */
static void read_a_table(int fd)
{
	static uint32_t keys[ROWS];
	static uint64_t values[ROWS];
	uint32_t next, n;

	for (uint32_t i = 0; i < ROWS / 2; i++)
		bpf_map_update_elem(fd, &i, values, BPF_ANY);
	for (;;) {
		n = ROWS;
		bpf_map_lookup_batch(fd, NULL, &next, keys, values, &n, NULL);
	}
}

/* Until the process has had a good deal of a CPU. */
static struct proc *sample_beside(pid_t pid, const char *const argv[])
{
	struct proc *tool = tool_start_argv(argv);
	uint64_t until_ns = thread_cpu_ns(pid) + 500000000;

	while (!tool->has_ended && thread_cpu_ns(pid) < until_ns)
		proc_linger(tool, 50);
	tool_stop(tool);
	CHECK_HAS(tool->err, "% of samples lost: another BPF program was running");
	return tool;
}

/* The kernel counts them nowhere. */
TEST(samples_that_were_due_and_did_not_come_are_told)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(uint32_t), sizeof(uint64_t), ROWS,
				NULL);
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);
	pid_t pid = fork();
	struct proc *tool;

	if (!pid)
		read_a_table(fd);
	CHECK_EQ(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	close(fd);
	tool = sample_beside(pid, ARGV("profile", "-F", "499", "--format", "json"));
	CHECK_LACKS(tool->out, "\"lost\":0}");
	sample_beside(pid, ARGV("profile", "--wall", "-F", "499"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while ((fd = bpf_map_get_fd_by_id(info.id)) >= 0) { /* it is freed a moment later */
		close(fd);
		usleep(10000);
	}
}
