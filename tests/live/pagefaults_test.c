// SPDX-License-Identifier: GPL-2.0-only
/*
 * pagefaults, live. The measures are the pages that the workload touches, prime numbers of them,
 * and the kernel's own counts, read by the test from perf events of the same process meanwhile.
 *
 * A perf event's program doesn't run where BPF is busy on that CPU, nor one on a function where it
 * was interrupted itself; the tool tells how many faults of the whole system it missed so, and as
 * many may be missing here.
 */
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "live.h"

/* ---- reading the output ---- */

#define CHECK_FAULTS(tool, counted, wanted)                                                  \
	do {                                                                                 \
		unsigned long long live_a = (counted), live_b = (wanted);                    \
		unsigned long long live_missed = faults_missed(tool) + events_missed(tool);  \
		if (live_a > live_b || live_a + live_missed < live_b)                        \
			UNIT_FAIL("%s is %llu, not %llu (%llu missed); %s%.3000s", #counted, \
				  live_a, live_b, live_missed, (tool)->err, (tool)->out);    \
	} while (0)

enum column {
	MINOR,
	MAJOR,
	KERNEL,
	BOTH, /* MINOR and MAJOR: some kernels call new pages of shared memory major */
};

/* The column's sum over the table's lines that contain part; NULL: over all. */
static uint64_t column_sum(const char *text, enum column column, const char *part)
{
	unsigned long long values[4], sum = 0;

	for (const char *line = text, *end; *line; line = end + (*end == '\n')) {
		const char *found = part ? strstr(line, part) : line;

		end = strchrnul(line, '\n');
		if (!found || found >= end ||
		    sscanf(line, "%llu %llu %llu", &values[0], &values[1], &values[2]) != 3)
			continue;
		values[BOTH] = values[MINOR] + values[MAJOR];
		sum += values[column];
	}
	return sum;
}

/* ---- the kernel's own counts ---- */

struct kernel_counts {
	int fds[2]; /* MINOR, MAJOR */
};

static struct kernel_counts count_by_kernel(pid_t pid)
{
	struct kernel_counts counts;

	for (int i = 0; i < 2; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_SOFTWARE,
			.size = sizeof(attr),
			.config = i == MINOR ? PERF_COUNT_SW_PAGE_FAULTS_MIN
					     : PERF_COUNT_SW_PAGE_FAULTS_MAJ,
			.inherit = 1,
		};

		counts.fds[i] =
			(int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		CHECK(counts.fds[i] >= 0);
	}
	return counts;
}

static uint64_t kernel_count(const struct kernel_counts *counts, enum column column)
{
	uint64_t value = UINT64_MAX;

	CHECK_EQ(read(counts->fds[column], &value, sizeof(value)), sizeof(value));
	close(counts->fds[column]);
	return value;
}

/* ---- running ---- */

/* Traces a workload of n parts from blocked to blocked. */
static struct proc *trace_parts(struct proc *work, int n, const char *const argv[])
{
	struct proc *tool = tool_start_argv(argv);

	for (int i = 0; i < n; i++) {
		work_go(work);
		wait_until_blocked(work->pid);
	}
	work_wait_done(work);
	tool_stop(tool);
	return tool;
}

#define TRACE(work, n, ...) trace_parts(work, n, ARGV("pagefaults", __VA_ARGS__))

/*
 * A file of that many pages, on a file system that keeps its files on a disk; NULL: there is none.
 */
static const char *make_disk_file(long pages)
{
	const char *path = text_of("%s/planted", folder_make());
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char page[4096];
	struct statfs fs;

	memset(page, 'x', sizeof(page));
	for (long i = 0; i < pages; i++)
		CHECK_EQ(write(fd, page, sizeof(page)), sizeof(page));
	CHECK_EQ(fstatfs(fd, &fs), 0);
	close(fd);
	return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC ? NULL : path;
}

static const char *disks_lack(void)
{
	return make_disk_file(1) ? NULL : "files are not on a disk here";
}

/* ---- by stack ---- */

TEST(planted_pages_are_counted_by_stack)
{
	struct proc *work = work_start("faults", "anon:1009");
	struct proc *tool = TRACE(work, 1, "-p", pid_text(work->pid));

	CHECK(folded_is_sane(tool->out));
	CHECK_FAULTS(tool, folded_sum(tool->out, "faults", "touch_outer;touch_pages"), 1009);
	CHECK_EQ(folded_sum(tool->out, NULL, NULL), truth_value(tool));
}

TEST(faults_of_the_kernel_are_marked)
{
	struct proc *work = work_start("faults", "kernel:503");
	struct proc *tool = TRACE(work, 1, "-f", "-p", pid_text(work->pid));
	const char *line = folded_find(tool->out, "faults", "read_pages");

	CHECK_FAULTS(tool, folded_sum(tool->out, "faults", "read_pages"), 503);
	CHECK_HAS(line, ";[kernel mode] ");
	CHECK(strstr(line, "vfs_read;") || strstr(line, "[k"));
	work = work_start("faults", "kernel:503");
	tool = TRACE(work, 1, "-fU", "-p", pid_text(work->pid)); /* the mark stays */
	line = folded_find(tool->out, "faults", "read_pages");
	CHECK_HAS(line, ";[kernel mode] ");
	CHECK_LACKS(line, "vfs_read");
}

TEST(faults_of_user_code_have_no_kernel_stack)
{
	struct proc *work = work_start("faults", "anon:101");
	struct proc *tool = TRACE(work, 1, "-f", "-p", pid_text(work->pid));

	CHECK_HAS(folded_find(tool->out, "faults", "touch_outer;touch_pages"),
		  ";touch_outer;touch_pages ");
	work = work_start("faults", "anon:101", "kernel:103");
	tool = TRACE(work, 2, "-K", "-p", pid_text(work->pid));
	CHECK_LACKS(tool->out, "touch_pages");
	CHECK(folded_sum(tool->out, "faults", "[kernel mode]") + faults_missed(tool) >= 103);
}

TEST_UNLESS(disks_lack, major_faults_are_marked)
{
	const char *path = make_disk_file(211), *other = make_disk_file(211);
	struct proc *work = work_start("faults", text_of("file:211:%s", path));
	struct proc *tool = TRACE(work, 1, "-f", "-p", pid_text(work->pid));

	CHECK_FAULTS(tool, folded_sum(tool->out, "faults", "touch_pages;[major]"), 211);
	work = work_start("faults", text_of("file:211:%s", other), "anon:103");
	tool = TRACE(work, 2, "-f", "--major", "-p", pid_text(work->pid));
	CHECK_FAULTS(tool, folded_sum(tool->out, "faults", "touch_pages"), 211);
}

TEST_UNLESS(disks_lack, minor_faults_alone)
{
	const char *path = make_disk_file(211);
	struct proc *work = work_start("faults", text_of("file:211:%s", path), "anon:103");
	struct proc *tool = TRACE(work, 2, "-f", "--minor", "-p", pid_text(work->pid));

	CHECK_FAULTS(tool, folded_sum(tool->out, "faults", "touch_pages"), 103);
	CHECK_LACKS(tool->out, "[major]");
}

TEST(only_memory_of_the_wanted_kind_is_counted_by_stack)
{
	struct proc *work = work_start("faults", "anon:1009", "shmem:307");
	struct proc *tool = TRACE(work, 2, "--anon", "-p", pid_text(work->pid));

	CHECK_FAULTS(tool, folded_sum(tool->out, "faults", "touch_anon;touch_outer"), 1009);
	CHECK_LACKS(tool->out, "touch_shmem");
	work = work_start("faults", "anon:1009", "shmem:307");
	tool = TRACE(work, 2, "--file", "-p", pid_text(work->pid));
	CHECK_FAULTS(tool, folded_sum(tool->out, "faults", "touch_shmem;touch_outer"), 307);
	CHECK_LACKS(tool->out, "touch_anon");
	CHECK_LACKS(tool->err, "unknown");
}

TEST(a_command_is_traced_from_its_start)
{
	struct proc *tool = tool_run("pagefaults", "-f", "--", work_path("faults"), "anon:1009");

	/* It lives for milliseconds: where the machine is busy, its names may come too late. */
	CHECK(folded_sum(tool->out, "faults", NULL) + faults_missed(tool) >= 1009);
}

/* ---- by process ---- */

TEST(minor_and_major_faults_are_as_the_kernel_counts_them)
{
	const char *path = make_disk_file(211), *file = text_of("file:211:%s", path ? path : "");
	struct proc *work =
		work_start("faults", "anon:1009", "kernel:503", path ? file : "heap:211");
	struct kernel_counts counts = count_by_kernel(work->pid);
	struct proc *tool = TRACE(work, 3, "-P", "-p", pid_text(work->pid));

	CHECK_FAULTS(tool, column_sum(tool->out, MINOR, NULL), kernel_count(&counts, MINOR));
	CHECK_FAULTS(tool, column_sum(tool->out, MAJOR, NULL), kernel_count(&counts, MAJOR));
	CHECK(column_sum(tool->out, MINOR, NULL) + faults_missed(tool) >= 1009 + 503);
	CHECK(column_sum(tool->out, KERNEL, NULL) + faults_missed(tool) >= 503);
	CHECK(column_sum(tool->out, KERNEL, NULL) < 1009);
	if (path)
		CHECK_FAULTS(tool, column_sum(tool->out, MAJOR, NULL), 211);
	CHECK_HAS(tool->out, text_of(" %7d faults\n", work->pid));
	CHECK_EQ(lines_with(tool->out, " faults"), 1);
	CHECK_EQ(column_sum(tool->out, MINOR, NULL) + column_sum(tool->out, MAJOR, NULL),
		 truth_value(tool));
}

TEST(each_process_has_a_row)
{
	struct proc *one = work_start("faults", "anon:1009"),
		    *other = work_start("faults", "anon:503");
	struct proc *tool = tool_start("pagefaults", "-P");

	work_do(one);
	work_do(other);
	tool_stop(tool);
	CHECK(column_sum(tool->out, MINOR, text_of(" %7d faults", one->pid)) +
		      faults_missed(tool) >=
	      1009);
	CHECK(column_sum(tool->out, MINOR, text_of(" %7d faults", other->pid)) +
		      faults_missed(tool) >=
	      503);
	CHECK(column_sum(tool->out, MINOR, text_of(" %7d faults", other->pid)) < 1009);
}

/* ---- by file ---- */

TEST(every_kind_of_memory_has_its_row)
{
	struct proc *work = work_start("faults", "anon:1009", "heap:211", "stack:101", "shmem:307");
	struct kernel_counts counts = count_by_kernel(work->pid);
	struct proc *tool = TRACE(work, 4, "--by-file", "-p", pid_text(work->pid));
	uint64_t missed = faults_missed(tool);

	CHECK_FAULTS(tool, column_sum(tool->out, MINOR, NULL), kernel_count(&counts, MINOR));
	CHECK_FAULTS(tool, column_sum(tool->out, BOTH, " shmem   /memfd:planted (deleted)"), 307);
	CHECK(column_sum(tool->out, MINOR, " anon") + missed >= 1009);
	CHECK(column_sum(tool->out, MINOR, " anon") < 1009 + 101);
	CHECK(column_sum(tool->out, MINOR, " heap") + missed >= 211);
	CHECK(column_sum(tool->out, MINOR, " heap") < 211 + 101);
	CHECK(column_sum(tool->out, MINOR, " stack") + missed >= 101);
	CHECK(column_sum(tool->out, MINOR, " stack") < 101 + 17 + 31);
	CHECK_EQ(lines_with(tool->out, " shmem"), 1);
	CHECK_LACKS(tool->out, "unknown");
	CHECK_LACKS(tool->out, "?");
}

/* In a container, the first one is inode 0. */
TEST(a_first_system_v_segment_is_named)
{
	struct proc *work = work_start("faults", "sysv:103");
	struct proc *tool = TRACE(work, 1, "--by-file", "-p", pid_text(work->pid));

	CHECK_FAULTS(tool, column_sum(tool->out, BOTH, " shmem   /SYSV00000000 (deleted)"), 103);
}

TEST_UNLESS(disks_lack, an_evicted_file_is_named_with_its_major_faults)
{
	const char *path = make_disk_file(307);
	struct proc *work = work_start("faults", text_of("file:307:%s", path));
	struct proc *tool = TRACE(work, 1, "--by-file", "-p", pid_text(work->pid));

	CHECK_FAULTS(tool, column_sum(tool->out, MAJOR, text_of(" file    %s\n", path)), 307);
	CHECK_EQ(column_sum(tool->out, MINOR, text_of(" file    %s\n", path)), 0);
}

TEST(a_path_goes_on_above_its_mount)
{
	const char *path = text_of("/dev/shm/tracelets-%d", getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct proc *work, *tool;

	if (fd < 0)
		SKIP("no /dev/shm");
	CHECK_EQ(ftruncate(fd, 31 * 4096), 0);
	close(fd);
	work = work_start("faults", text_of("file:31:%s", path));
	tool = TRACE(work, 1, "--by-file", "-p", pid_text(work->pid));
	unlink(path);
	CHECK_FAULTS(tool, column_sum(tool->out, BOTH, text_of(" shmem   %s\n", path)), 31);
}

TEST_UNLESS(disks_lack, a_deleted_file_is_named)
{
	const char *path = make_disk_file(211);
	struct proc *work = work_start("faults", text_of("deleted:211:%s", path));
	struct proc *tool = TRACE(work, 1, "--by-file", "-p", pid_text(work->pid));

	CHECK_FAULTS(tool, column_sum(tool->out, MAJOR, text_of("   %s (deleted)\n", path)), 211);
}

TEST(a_command_s_files_are_named_though_it_is_gone)
{
	const char *program = realpath_of(work_path("faults"));
	struct proc *tool =
		tool_run("pagefaults", "--by-file", "--", work_path("faults"), "anon:7");

	CHECK(column_sum(tool->out, MINOR, text_of(" %s\n", program)) > 0);
	CHECK_LACKS(tool->out, "?");
}

TEST(files_of_each_process_are_told_apart)
{
	struct proc *one = work_start("faults", "shmem:307"),
		    *other = work_start("faults", "shmem:101");
	struct proc *tool = tool_start("pagefaults", "-P", "--by-file", "-p",
				       text_of("%d,%d", one->pid, other->pid));

	work_do(one);
	work_do(other);
	tool_stop(tool);
	CHECK_FAULTS(tool,
		     column_sum(tool->out, BOTH,
				text_of(" %7d faults           shmem   /memfd:planted", one->pid)),
		     307);
	CHECK_FAULTS(
		tool,
		column_sum(tool->out, BOTH,
			   text_of(" %7d faults           shmem   /memfd:planted", other->pid)),
		101);
}

TEST(only_memory_of_the_wanted_kind_is_in_the_table)
{
	struct proc *work = work_start("faults", "anon:1009", "shmem:307", "heap:101");
	struct proc *tool = TRACE(work, 3, "--by-file", "--file", "-p", pid_text(work->pid));

	CHECK_FAULTS(tool, column_sum(tool->out, BOTH, " shmem "), 307);
	CHECK_EQ(lines_with(tool->out, " anon") + lines_with(tool->out, " heap"), 0);
	work = work_start("faults", "anon:1009", "shmem:307", "heap:101");
	tool = TRACE(work, 3, "--by-file", "--anon", "-p", pid_text(work->pid));
	CHECK(column_sum(tool->out, MINOR, " anon") + faults_missed(tool) >= 1009);
	CHECK(column_sum(tool->out, MINOR, " heap") + faults_missed(tool) >= 101);
	CHECK_EQ(lines_with(tool->out, " shmem") + lines_with(tool->out, " file"), 0);
}

/* ---- intervals and losses ---- */

TEST(intervals_add_up_without_loss)
{
	struct proc *work = work_start("faults", text_of("anon:%d", at_size(200003, 20011)));
	struct kernel_counts counts = count_by_kernel(work->pid);
	struct proc *tool = TRACE(work, 1, "-P", "-p", pid_text(work->pid), "--interval", "1ms");

	CHECK_FAULTS(tool, column_sum(tool->out, MINOR, NULL), kernel_count(&counts, MINOR));
	CHECK(lines_from(tool->out, "   MINOR") > 1);
	close(counts.fds[MAJOR]);
}

TEST(stacks_of_intervals_add_up)
{
	int pages = at_size(100003, 10007);
	struct proc *work = work_start("faults", text_of("anon:%d", pages));
	struct proc *tool = TRACE(work, 1, "-f", "-p", pid_text(work->pid), "--interval", "10ms");

	CHECK_FAULTS(tool, folded_sum(tool->out, "faults", "touch_outer;touch_pages"), pages);
}

TEST(files_are_named_in_every_interval)
{
	struct proc *work = work_start("faults", "memfds:101", "memfds:103");
	struct proc *tool = tool_start_on(work, "pagefaults", "--by-file", "200ms");

	work_go(work);
	wait_until_blocked(work->pid);
	wait_for_lines(tool, "   MINOR", lines_with(tool->out, "   MINOR") + 2);
	work_do(work);
	tool_stop(tool);
	CHECK_FAULTS(tool, lines_with(tool->out, " shmem   /memfd:one (deleted)"), 204);
	CHECK(lines_from(tool->out, "   MINOR") >= 3);
	CHECK_LACKS(tool->out, "?");
}

TEST(interval_and_count_give_that_many_reports)
{
	struct proc *tool = tool_run("pagefaults", "-PT", "100ms", "3");
	int h, m, s, n = 0;
	char *line, *rest = tool->out;

	CHECK_EQ(lines_from(tool->out, "   MINOR    MAJOR   KERNEL     PID COMM"), 3);
	while ((line = strsep(&rest, "\n")))
		n += strlen(line) == 8 && sscanf(line, "%d:%d:%d", &h, &m, &s) == 3;
	CHECK_EQ(n, 3);
}

TEST(a_full_table_is_told_with_its_share)
{
	struct proc *work = work_start("faults", "memfds:503");
	struct proc *tool =
		TRACE(work, 1, "--by-file", "--entries", "64", "-p", pid_text(work->pid));

	CHECK_HAS(tool->err, " % of faults lost: map full\n");
	CHECK_HAS(tool->err, "hint: raise --entries\n");
	CHECK_EQ(lines_with(tool->out, " shmem   /memfd:one (deleted)") <= 64, 1);
}

/* ---- latency ---- */

/* The kernel may refuse it, and the tool has to say so before anything is attached. */
static const char *latency_lacks(void)
{
	struct proc *tool = tool_try("pagefaults", "-L", "100ms", "1");

	if (tool->status == 0)
		return NULL;
	CHECK_FAILURE(tool, "pagefaults: -L: attach to ");
	CHECK_EQ(lines_with(tool->err, ""), 1);
	return "no fentry";
}

TEST_UNLESS(latency_lacks, latency_is_of_every_fault_once)
{
	struct proc *work = work_start("faults", "anon:1009", "kernel:503");
	struct kernel_counts counts = count_by_kernel(work->pid);
	struct proc *tool = TRACE(work, 2, "-L", "-p", pid_text(work->pid));

	CHECK_FAULTS(tool, hist_count_of(tool->out, "fault = minor\n"),
		     kernel_count(&counts, MINOR));
	CHECK_FAULTS(tool, hist_count_of(tool->out, "fault = major\n"),
		     kernel_count(&counts, MAJOR));
	CHECK_EQ(hist_count_of(tool->out, NULL), truth_value(tool));
}

/* The process itself brings the pages, so that each fault is tried twice, with 2 ms in between. */
TEST_UNLESS(latency_lacks, a_fault_that_is_tried_again_is_counted_once_in_full)
{
	uint64_t kernels;
	struct proc *work = work_start("faults", "user:31");
	struct kernel_counts counts = count_by_kernel(work->pid);
	struct proc *tool = TRACE(work, 1, "-L", "-m", "-p", pid_text(work->pid));

	if (strstr(work->out, "refused"))
		SKIP("no userfaultfd");
	kernels = kernel_count(&counts, MINOR) + kernel_count(&counts, MAJOR);
	CHECK_FAULTS(tool, hist_count_of(tool->out, NULL), kernels);
	CHECK(kernels >= 31);
	CHECK(sum_from(tool->out, "         0 -> 1          : ") + 31 <= kernels);
}

TEST_UNLESS(latency_lacks, latency_by_process_and_kind)
{
	struct proc *work = work_start("faults", "anon:1009", "shmem:307");
	struct proc *tool = TRACE(work, 2, "-L", "-P", "--file", "-p", pid_text(work->pid));

	CHECK(hist_count_of(tool->out, text_of("pid = %d faults\n", work->pid)) +
		      events_missed(tool) >=
	      307);
	CHECK(hist_count_of(tool->out, text_of("pid = %d faults\n", work->pid)) < 1009);
	work = work_start("faults", "anon:1009");
	tool = TRACE(work, 1, "-L", "--major", "-p", pid_text(work->pid));
	CHECK_LACKS(tool->out, "fault = minor");
}

TEST(tables_and_histograms_are_text)
{
	static const char *const kinds[] = { "-P", "--by-file", "-L" };

	for (int i = 0; i < (latency_lacks() ? 2 : 3); i++)
		tool_run("pagefaults", kinds[i], "--format", "text", "100ms", "1");
}

/* ---- refused ---- */

TEST(metrics_by_process_have_no_series_of_what_did_not_happen)
{
	const char *path = text_of("%s/f.prom", folder_make()), *text;
	struct proc *work = work_start("faults", "anon:1009");

	trace_pid(work, "pagefaults", "-P", "--format", "prometheus", "--output", path);
	text = file_read(path);
	CHECK(text);
	CHECK_EQ(lines_from(text, "tracelets_pagefaults_total{severity=\"minor\","), 1);
	CHECK_EQ(lines_from(text, "tracelets_pagefaults_total{severity=\"major\","), 0);
}

/* Beside a tool whose programs run often, so that some faults come while one does. */
TEST(metrics_tell_what_no_program_has_seen)
{
	const char *path = text_of("%s/f.prom", folder_make());
	struct proc *work = work_start("faults", "anon:10007"), *tool, *other;
	uint64_t missed;
	char *text;

	other = tool_start("offcputime", "-f");
	tool = trace_work(work, ARGV("pagefaults", "--format", "prometheus", "--output", path));
	tool_stop(other);
	missed = faults_missed(tool) + events_missed(tool);
	text = file_read(path);
	CHECK(text);
	CHECK_HAS(text, text_of("tracelets_lost_total{tool=\"pagefaults\",reason=\"busy\"} %llu\n",
				(unsigned long long)missed));
}
