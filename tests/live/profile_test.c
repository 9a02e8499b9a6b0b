// SPDX-License-Identifier: GPL-2.0-only
/*
 * profile, live. The measure is the workload's own CPU time: with so many samples a second, so much
 * CPU time is so many samples.
 */
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live.h"

static uint64_t samples_expected(const char *out, const char *comm, unsigned int hz)
{
	return work_value(out, comm, "cpu_ns") / 1000 * hz / 1000000;
}

static void check_one_function_is_hot(const char *out, const char *comm)
{
	uint64_t all = folded_sum(out, comm, NULL);
	uint64_t hot = folded_sum(out, comm, "spin_outer;spin_hot");

	CHECK(hot >= all - all / 20);
	CHECK(hot <= all);
}

TEST(samples_are_cpu_time_times_frequency)
{
	struct proc *tool = tool_run("profile", "-F", "199", "--", work_path("spin"), "-r", "-m",
				     "3000", "-c", text_of("%d", usable_cpu(0)));

	CHECK_STATUS(tool, 0);
	CHECK(folded_is_sane(tool->out));
	CHECK_CLOSE(folded_sum(tool->out, "spin", NULL), samples_expected(tool->out, "spin", 199),
		    30);
	CHECK_EQ(folded_sum(tool->out, NULL, NULL), truth_value(tool));
	check_one_function_is_hot(tool->out, "spin");
}

TEST(each_thread_has_its_samples)
{
	struct proc *work, *tool;

	if (usable_cpus() < 2)
		SKIP("there is one CPU only");
	work = work_start("spin", "-r", "-t", "2", "-m", "1500");
	tool = tool_start("profile", "-F", "199", "-p", pid_text(work->pid));
	work_do(work);
	tool_stop(tool);
	CHECK_STATUS(tool, 0);
	for (int i = 0; i < 2; i++) {
		const char *comm = text_of("spin-%d", i);

		CHECK_CLOSE(folded_sum(tool->out, comm, NULL),
			    samples_expected(work->out, comm, 199), 50);
		check_one_function_is_hot(tool->out, comm);
	}
}

TEST(a_period_is_in_ns_of_cpu_clock)
{
	struct proc *tool = tool_run("profile", "--event", "cpu-clock", "-c", "5087293", "--",
				     work_path("spin"), "-r", "-m", "1500");

	CHECK_STATUS(tool, 0);
	CHECK_CLOSE(folded_sum(tool->out, "spin", NULL),
		    work_value(tool->out, "spin", "cpu_ns") / 5087293, 50);
}

/* A leaf of the tree has a stack of its own. Some leaves get two samples, some none. */
TEST(no_sample_of_many_stacks_is_lost)
{
	struct proc *tool = tool_run("profile", "-U", "-F", "9973", "--", work_path("tree"), "15",
				     "spin", "110");
	uint64_t samples = folded_sum(tool->out, "tree", "leaf;leaf_spin");
	uint64_t stacks = folded_count(tool->out, "tree", "leaf;leaf_spin");

	CHECK_STATUS(tool, 0);
	CHECK(folded_is_sane(tool->out));
	CHECK_LACKS(tool->err, "lost");
	CHECK_LACKS(tool->err, "without their stack");
	CHECK_EQ(folded_sum(tool->out, NULL, NULL), truth_value(tool));
	CHECK(stacks > samples / 3);
	CHECK(folded_sum(tool->out, "tree", NULL) - samples < samples / 20);
	if (samples < 20000)
		SKIP("%d samples only: too slow a machine for 20,000 stacks", (int)samples);
	CHECK(stacks >= 16384);
}

TEST(no_sample_of_512_stacks_is_lost)
{
	struct proc *tool = tool_run("profile", "-U", "-F", "787", "--", work_path("tree"), "9",
				     "spin", "3000");

	CHECK_STATUS(tool, 0);
	CHECK_LACKS(tool->err, "lost");
	CHECK(folded_count(tool->out, "tree", "leaf;leaf_spin") >= 400);
	CHECK_CLOSE(folded_sum(tool->out, "tree", NULL), samples_expected(tool->out, "tree", 787),
		    30);
}

TEST(a_full_table_is_told_with_its_share)
{
	struct proc *tool = tool_run("profile", "-U", "-F", "787", "--stack-storage-size", "16",
				     "--", work_path("tree"), "9", "spin", "2000");
	const char *warning = strstr(tool->err, "warning: ");
	double shown = folded_sum(tool->out, NULL, NULL), percent, lost;

	CHECK_STATUS(tool, 0);
	CHECK(warning);
	CHECK_HAS(tool->err, " % of samples lost: map full\n");
	CHECK_HAS(tool->err, "hint: raise --stack-storage-size\n");
	percent = warning ? atof(warning + strlen("warning: ")) : 0;
	CHECK(percent > 50 && percent < 100);
	lost = shown * percent / (100 - percent);
	CHECK_CLOSE((uint64_t)(shown + lost), samples_expected(tool->out, "tree", 787), 60);
}

TEST(equal_stacks_of_several_processes_are_one_line)
{
	struct proc *work = work_start("family", "5");
	struct proc *tool = tool_start("profile", "-U", "-F", "499", "--comm", "kid");

	work_do(work);
	tool_stop(tool);
	CHECK(folded_is_sane(tool->out));
	CHECK(folded_sum(tool->out, "kid", "kid_main;kid_spin") >= 5 * 20 * 499 / 1000 / 2);
	CHECK(folded_sum(tool->out, "kid", "[unknown]") < folded_sum(tool->out, "kid", NULL) / 5);
}

/* Under a name of its own, to be told from others that run at the same time. */
TEST(intervals_add_up_and_the_tool_is_not_in_them)
{
	const char *alias = text_of("%s/myself", folder_make());
	struct proc *work = work_start("tree", "12", "spin", "500"), *tool;

	CHECK(!symlink(realpath_of(tool_path("profile")), alias));
	tool = tool_start(alias, "-U", "-F", "787", "--interval", "2ms");
	work_do(work);
	tool_stop(tool);
	CHECK_STATUS(tool, 0);
	CHECK(lines_with(tool->out, "tree;") > 1000);
	CHECK_LACKS(tool->err, "lost");
	CHECK_LACKS(tool->err, "without their stack");
	CHECK_EQ(folded_sum(tool->out, NULL, NULL), truth_value(tool));
	CHECK_CLOSE(folded_sum(tool->out, "tree", NULL), samples_expected(work->out, "tree", 787),
		    30);
	CHECK_EQ(folded_sum(tool->out, "myself", NULL), 0);
}

TEST(kernel_or_user_frames_can_be_left_out)
{
	struct proc *tool =
		tool_run("profile", "-K", "-F", "199", "--", work_path("spin"), "-m", "300");

	CHECK_STATUS(tool, 0);
	CHECK_EQ(folded_count_prefix(tool->out, "spin_"), 0);
	CHECK(folded_sum(tool->out, "spin", NULL) > 0);
	tool = tool_run("profile", "-U", "-F", "199", "--", work_path("spin"), "-m", "300");
	CHECK(folded_sum(tool->out, "spin", "main;spin_thread;spin_outer;spin_hot") > 0);
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

	CHECK_STATUS(tool, 0);
	CHECK(lines_with(tool->out, "_[k] ") > 0);
	CHECK_EQ(folded_count_prefix(tool->out, "state_spin_[k]"), 0);
	CHECK(folded_count_prefix(tool->out, "state_spin") > 0);
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
	CHECK_LACKS(tool->out, ";bpf_prog_");
	CHECK_LACKS(tool->out, "__bpf_prog_enter");
	CHECK_LACKS(tool->out, "__bpf_prog_exit");
}

TEST(cpus_can_be_kept_apart)
{
	int cpu = usable_cpu(0);
	struct proc *tool = tool_run("profile", "--per-cpu", "-F", "199", "--", work_path("spin"),
				     "-m", "500", "-c", text_of("%d", cpu));
	uint64_t all = folded_sum(tool->out, "spin", NULL);

	CHECK_STATUS(tool, 0);
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
			"500", "-c", first);
	CHECK_CLOSE(folded_sum(tool->out, "spin", NULL), samples_expected(tool->out, "spin", 199),
		    50);
	tool = tool_run("profile", "-C", second, "-F", "199", "--", work_path("spin"), "-r", "-m",
			"500", "-c", first);
	CHECK_STATUS(tool, 0);
	CHECK(folded_sum(tool->out, "spin", NULL) < samples_expected(tool->out, "spin", 199) / 5);
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
	unsigned long before;

	CHECK_LACKS(tool->out, "swapper/");
	before = idle_ticks();
	tool = tool_run("profile", "-I", "-F", "199", "2");
	if (idle_ticks() - before > 20)
		CHECK_HAS(tool->out, "swapper/");
	else
		SKIP("the machine is not idle for a moment");
}

/* ---- symbols ---- */

struct other_file {
	const char *path, *with;
};

/* From here on there is another file at the path, but not for the rest of the system. */
static bool put_other_file(void *arg)
{
	struct other_file *other = arg;

	return enter_mount_namespace() && !mount(other->with, other->path, NULL, MS_BIND, NULL);
}

TEST(symbols_come_from_the_file_that_the_process_has_mapped)
{
	const char *folder = folder_make();
	struct other_file other = { text_of("%s/spin", folder), work_path("decoy") };
	struct proc *work, *tool;

	CHECK(file_copy(work_path("spin"), other.path));
	work = work_start_in(put_other_file, &other, other.path,
			     ARGV("spin", "-m", "1000", "-n", "inside"));
	tool = tool_start("profile", "-F", "199", "-p", pid_text(work->pid));
	work_do(work);
	tool_stop(tool);
	CHECK(folded_sum(tool->out, "inside", "decoy_outer;decoy_hot") >
	      folded_sum(tool->out, "inside", NULL) / 2);
	CHECK_EQ(folded_count_prefix(tool->out, "spin_outer"), 0);
	CHECK_EQ(folded_count_prefix(tool->out, "spin_hot"), 0);
}

TEST(a_deleted_program_keeps_its_symbols)
{
	const char *folder = folder_make(), *path = text_of("%s/spin", folder);
	struct proc *work, *tool;

	CHECK(file_copy(work_path("spin"), path));
	work = work_start_in(NULL, NULL, path, ARGV("spin", "-m", "1000", "-n", "deleted"));
	unlink(path);
	CHECK(file_copy(work_path("decoy"), path)); /* which has nothing to say about it */
	tool = tool_start("profile", "-F", "199", "-p", pid_text(work->pid));
	work_do(work);
	tool_stop(tool);
	CHECK(folded_sum(tool->out, "deleted", "spin_outer;spin_hot") > 0);
	CHECK_EQ(folded_count_prefix(tool->out, "decoy_"), 0);
}

#define KPTR_RESTRICT "/proc/sys/kernel/kptr_restrict"

/* Root without CAP_SYSLOG: exec gives it no capability that is out of bounds. */
static bool drop_syslog(void *arg)
{
	(void)arg;
	return !prctl(PR_CAPBSET_DROP, CAP_SYSLOG, 0, 0, 0);
}

TEST(hidden_kernel_symbols_are_absent_not_wrong)
{
	const char *before = file_read(KPTR_RESTRICT), *cpu = text_of("%d", usable_cpu(0));
	struct proc *tool;

	if (!before || !file_write(KPTR_RESTRICT, "1\n"))
		SKIP("no " KPTR_RESTRICT);
	tool = tool_run_in(drop_syslog, NULL, "profile", "-K", "-F", "4999", "--interval", "100ms",
			   "--", work_path("states"), cpu);
	file_write(KPTR_RESTRICT, before);
	CHECK_STATUS(tool, 0);
	CHECK_EQ(lines_with(tool->err, "/proc/kallsyms hides addresses"), 1);
	CHECK(folded_count_prefix(tool->out, "0x") > 1);
	CHECK_EQ(folded_count_prefix(tool->out, "0x"), lines_with(tool->out, ";"));
	CHECK_LACKS(tool->out, "+0x");
}
