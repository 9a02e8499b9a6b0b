// SPDX-License-Identifier: GPL-2.0-only
/*
 * biolat, live, on a disk of its own: a loop device on a file in memory, or the one that
 * TRACELETS_DISK names, which may be overwritten. The measure is what the kernel counts for that
 * disk, /proc/diskstats, and the workload's plan.
 */
#include <inttypes.h>
#include <linux/dm-ioctl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>

#include "fuse.h"
#include "live.h"

#define DISK_BYTES (32 << 20)

/* ---- the disk ---- */

static int disk_fd = -1, disk_file = -1;
static char disk_path[64]; /* "/dev/loop3" */

/* Returns a loop device on that file; -1: impossible. The kernel frees it at its last close. */
static int open_loop(int file, char *path, size_t size)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd = -1;
	struct loop_info64 info = { .lo_flags = LO_FLAGS_AUTOCLEAR };

	/* others may take the same one */
	for (int i = 0; control >= 0 && i < 50; i++) {
		snprintf(path, size, "/dev/loop%d", ioctl(control, LOOP_CTL_GET_FREE));
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && !ioctl(fd, LOOP_SET_FD, file) &&
		    !ioctl(fd, LOOP_SET_STATUS64, &info))
			break;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (control >= 0)
		close(control);
	return fd;
}

static int open_disk(void)
{
	int file = memfd_create("disk", MFD_CLOEXEC | MFD_ALLOW_SEALING), fd = -1;

	if (!ftruncate(file, DISK_BYTES))
		fd = open_loop(file, disk_path, sizeof(disk_path));
	disk_file = file;
	return fd;
}

static const char *disk_lacks(void)
{
	const char *given = getenv("TRACELETS_DISK");

	if (*disk_path)
		return NULL;
	if (given)
		snprintf(disk_path, sizeof(disk_path), "%s", given);
	else if ((disk_fd = open_disk()) < 0)
		*disk_path = '\0';
	return *disk_path ? NULL : "there is no disk to write on";
}

static const char *disk_name(void)
{
	return strrchr(disk_path, '/') + 1;
}

/* Documentation/admin-guide/iostats.rst. A flush is also counted as a write of no sectors. */
struct disk_counts {
	uint64_t reads, read_merges, read_sectors, writes, write_merges, written_sectors, flushes;
};

static struct disk_counts counts_of(const char *name)
{
	const char *rest = file_read("/proc/diskstats"), *line;
	struct disk_counts c = {};

	line = line_with(&rest, text_of(" %s ", name), "");
	if (line)
		sscanf(strstr(line, name),
		       "%*s %" SCNu64 " %" SCNu64 " %" SCNu64 " %*s %" SCNu64 " %" SCNu64
		       " %" SCNu64 " %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
		       &c.reads, &c.read_merges, &c.read_sectors, &c.writes, &c.write_merges,
		       &c.written_sectors, &c.flushes);
	return c;
}

static struct disk_counts disk_counts(void)
{
	return counts_of(disk_name());
}

static uint64_t bios_of(const struct disk_counts *c)
{
	return c->reads + c->read_merges + c->writes + c->write_merges;
}

static uint64_t bytes_of(const struct disk_counts *c)
{
	return (c->read_sectors + c->written_sectors) * 512;
}

/* Traces the disk while the workload does what it was asked to. */
#define TRACE_DISK(work, ...) trace_work(work, ARGV("biolat", "-d", disk_name(), __VA_ARGS__))

/* Traces a workload while its disk has that scheduler. NULL: the kernel hasn't. */
static struct proc *trace_on_scheduler(const char *disk, const char *scheduler, struct proc *work,
				       const char *const argv[])
{
	const char *path = text_of("/sys/class/block/%s/queue/scheduler", disk);
	const char *before = file_read(path), *chosen = before ? strchr(before, '[') : NULL;
	char name[32] = "none";
	struct proc *tool;

	if (chosen)
		sscanf(chosen, "[%31[^]]", name);
	if (!file_write(path, scheduler))
		return NULL;
	file_write(text_of("/sys/class/block/%s/queue/nr_requests", disk), "256");
	tool = trace_work(work, argv);
	file_write(path, name);
	return tool;
}

/* Returns the requests that the tool reports as in flight, or lost for this one reason. */
static uint64_t unseen_requests(const struct proc *tool)
{
	const char *flying = strstr(tool->out, "in flight: ");

	return said_count(tool, "request", "lost: no completion event") +
	       (flying ? strtoull(flying + strlen("in flight: "), NULL, 10) : 0);
}

/*
 * The kernel of some sandboxes runs no BPF program if a completion interrupts their supervisor. A
 * few requests may be missing, if the tool reports each of them. title NULL: n is the total.
 */
static bool has_requests(const struct proc *tool, const char *title, uint64_t n)
{
	uint64_t count = hist_count_of(tool->out, title), unseen = unseen_requests(tool);

	if (unseen > 1 + n / 16)
		return false;
	return title ? count <= n && count + unseen >= n : count + unseen == n;
}

/* ---- counts ---- */

TEST_UNLESS(disk_lacks, every_request_is_counted_once)
{
	struct proc *work =
		work_start("disk", disk_path, "read", "101", "4096", "write", "53", "8192");
	struct disk_counts before = disk_counts(), now;
	struct proc *tool = TRACE_DISK(work, "-v");

	now = disk_counts();
	CHECK(now.reads - before.reads >= 101);
	CHECK(has_requests(tool, NULL, now.reads + now.writes - before.reads - before.writes));
	CHECK_EQ(hist_rows_of(tool->out, NULL), hist_count_of(tool->out, NULL));
	CHECK_EQ(truth_value(tool), hist_count_of(tool->out, NULL));
}

/* Requests that have the same place in the table, and those that find none, which are reported. */
TEST_UNLESS(disk_lacks, requests_at_once_are_counted_or_lost)
{
	static const char *const entries[] = { "8192", "64" };

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		struct proc *work = work_start("disk", disk_path, "uring", "64", "4096"), *tool;
		uint64_t count;

		tool = trace_pid(work, "biolat", "-d", disk_name(), "--entries", entries[i],
				 "--format", "json");
		if (work->status == 77)
			SKIP("no io_uring");
		count = json_sum(tool->out, "histogram", "count");
		CHECK_EQ(count + json_sum(tool->out, "run", "lost"), 64);
		CHECK(count == 64 || (i && count > 32));
	}
}

TEST_UNLESS(disk_lacks, issued_requests_are_counted_lost_or_in_flight)
{
	uint64_t n = (uint64_t)at_size(60000, 3000);
	struct proc *work = work_start("disk", disk_path, "read", text_of("%d", (int)n), "512");
	struct proc *tool = trace_pid(work, "biolat", "-d", disk_name(), "--format", "json");

	CHECK_EQ(json_sum(tool->out, "histogram", "count") + json_sum(tool->out, "run", "lost") +
			 json_sum(tool->out, "requests", "in_flight"),
		 n);
}

/* The kernel makes few requests of many small writes, and several of a large one. */
TEST_UNLESS(disk_lacks, merged_and_split_requests_are_counted_as_the_disk_gets_them)
{
	struct proc *work = work_start("disk", disk_path, "buffered", "1001", "4096", "write", "5",
				       "1048576", "read", "5", "1048576");
	struct disk_counts before = disk_counts(), now;
	struct proc *tool = TRACE_DISK(work, "-F");

	now = disk_counts();
	CHECK(has_requests(tool, "operation = read\n", now.reads - before.reads));
	CHECK(has_requests(tool, NULL, now.reads + now.writes - before.reads - before.writes));
}

/* A write that has to be on the disk when it returns may flush its cache first, or after. */
TEST_UNLESS(disk_lacks, flushes_are_counted_and_their_writes_once)
{
	struct proc *work = work_start("disk", disk_path, "sync", "31", "4096", "flush", "7", "0");
	struct disk_counts before = disk_counts();
	struct proc *tool = TRACE_DISK(work, "-F");

	CHECK(has_requests(tool, "operation = flush\n", disk_counts().flushes - before.flushes));
	CHECK(has_requests(tool, "operation = sync write\n", 31));
}

TEST_UNLESS(disk_lacks, time_in_the_queue_is_apart)
{
	struct proc *work = work_start("disk", disk_path, "read", "41", "4096");
	struct proc *tool = trace_pid(work, "biolat", "-d", disk_name(), "-Q");

	CHECK(has_requests(tool, "time = queue\n", 41));
	CHECK(has_requests(tool, "time = device\n", 41));
	CHECK(has_requests(tool, "time = total\n", 41));
	CHECK_LACKS(tool->err, "map full");
	CHECK_EQ(truth_value(tool), 41);
}

TEST_UNLESS(disk_lacks, sizes_add_up_to_what_the_disk_counts)
{
	struct proc *work =
		work_start("disk", disk_path, "buffered", "101", "4096", "write", "5", "1048576",
			   "read", "7", "524288", "sync", "3", "8192", "mapped", "1", "1048576");
	struct disk_counts before = disk_counts(), now;
	struct proc *tool = TRACE_DISK(work, "--bytes", "--format", "json");

	now = disk_counts();
	CHECK_EQ(json_sum(tool->out, "requests", "bytes"), bytes_of(&now) - bytes_of(&before));
	CHECK_EQ(json_sum(tool->out, "histogram", "count"), truth_value(tool));
	work = work_start("disk", disk_path, "read", "41", "8192");
	tool = trace_pid(work, "biolat", "-d", disk_name(), "--bytes", "-F");
	CHECK_HAS(tool->out, "operation = read\n     bytes               : count ");
	CHECK_HAS(tool->out, "count 41  avg 8192  p50 8192 ");
	CHECK_HAS(tool->out, "\ntransferred: 328 KiB, ");
}

/* Makes the disk a swap area. False: the kernel has none. */
static bool swap_begin(void)
{
	struct {
		char boot[1024];
		uint32_t version, last_page, n_bad;
		char rest[4096 - 1024 - 12 - 10], magic[10];
	} __attribute__((packed)) head = { .version = 1, .last_page = DISK_BYTES / 4096 - 1 };
	int fd = open(disk_path, O_RDWR | O_SYNC | O_CLOEXEC);
	bool is_written;

	memcpy(head.magic, "SWAPSPACE2", sizeof(head.magic));
	is_written = write(fd, &head, sizeof(head)) == sizeof(head);
	close(fd);
	return is_written && sysconf(_SC_PAGESIZE) == sizeof(head) && !swapon(disk_path, 0);
}

/* Memory of others may be swapped, too, also before and after the trace. */
TEST_UNLESS(disk_lacks, swap_is_counted_as_by_the_disk)
{
	struct disk_counts before, now;
	uint64_t bytes;
	struct proc *work, *tool;

	if (disk_file >= 0)
		SKIP("the disk is in memory, which would be swapped to it");
	if (!swap_begin())
		SKIP("no swap");
	work = work_start("disk", disk_path, "swapped", "1024", "4096");
	before = disk_counts();
	tool = TRACE_DISK(work, "--bytes", "-F", "--format", "json");
	now = disk_counts();
	CHECK_EQ(swapoff(disk_path), 0);
	CHECK_EQ(work->status, 0);
	bytes = json_sum(tool->out, "requests", "bytes");
	CHECK(bytes >= 1024 * 4096 && bytes <= bytes_of(&now) - bytes_of(&before));
	CHECK(json_sum(tool->out, "histogram", "count") <=
	      now.reads + now.writes - before.reads - before.writes);
}

TEST_UNLESS(disk_lacks, letters_of_bcc_can_be_combined)
{
	struct proc *work = work_start("disk", disk_path, "read", "41", "4096");
	struct proc *tool = TRACE_DISK(work, "-TmQDF", "100s", "1");
	const char *title = text_of("disk, operation, time = %s, read, device\n", disk_name());

	CHECK(hist_count_of(tool->out, title) >= 41);
	CHECK_HAS(tool->out, "     msecs               : count    distribution\n");
}

TEST_UNLESS(disk_lacks, slow_requests_have_a_line_each)
{
	struct proc *work = work_start("disk", disk_path, "read", "41", "8192"), *tool;

	tool = trace_pid(work, "biolat", "-d", disk_name(), "--slower", "1ns");
	CHECK_EQ(lines_from(tool->out, "TIME     DISK       OPERATION "), 1);
	CHECK_EQ(lines_with(tool->out, text_of(" %-10s read ", disk_name())), 41);
	CHECK_EQ(lines_with(tool->out, text_of(" %7d disk  ", work->pid)), 41);
	CHECK_EQ(truth_value(tool), 41);
	work = work_start("disk", disk_path, "read", "3", "8192");
	tool = trace_pid(work, "biolat", "-d", disk_name(), "--slower", "1ns", "--format", "json");
	CHECK_EQ(json_sum(tool->out, "slow_request", "bytes"), 3 * 8192);
	CHECK_EQ(json_sum(tool->out, "slow_request", "sector"), (0 + 1 + 2) * 16);
	CHECK_EQ(json_sum(tool->out, "slow_request", "pid"), 3 * (uint64_t)work->pid);
	work = work_start("disk", disk_path, "read", "3", "8192");
	tool = trace_pid(work, "biolat", "-d", disk_name(), "--slower", "100s");
	CHECK_EQ(truth_value(tool), 0);
}

/*
 * The kernel of some sandboxes runs no BPF programs above their supervisor's threads, which a
 * completion of a loop device may interrupt: one of 200,000 was seen to. Of a
 * disk that is given, all are counted.
 */
TEST_UNLESS(disk_lacks, slow_requests_that_the_ring_has_no_room_for_are_told)
{
	struct proc *work =
		work_start("disk", disk_path, "read", "8000", "4096", "read", "8000", "4096");
	struct proc *tool = trace_stopped(work, ARGV("biolat", "-d", disk_name(), "--slower", "1ns",
						     "--format", "json"));
	uint64_t lost = json_sum(tool->out, "run", "lost");
	uint64_t n = lines_from(tool->out, "{\"type\":\"slow_request\",") + lost;

	CHECK(lost > 0);
	if (n > 16000 || n + (getenv("TRACELETS_DISK") ? 0 : 16) < 16000)
		UNIT_FAIL("%llu of 16000 requests", (unsigned long long)n);
	CHECK_HAS(tool->err, "lost: ring buffer full");
}

/* ---- bios, at the top ---- */

/* Writes are too small to be split. */
static void check_bios(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	struct proc *work = work_start("disk", path, "write", "53", "8192", "read", "101", "4096",
				       "buffered", "15", "4096");
	struct disk_counts before = counts_of(name), now;
	struct proc *tool = trace_work(work, ARGV("biolat", "--layer", "top", "-d", name, "--bytes",
						  "--format", "json"));

	now = counts_of(name);
	CHECK(bios_of(&now) - bios_of(&before) >= 53 + 101);
	CHECK_EQ(json_sum(tool->out, "histogram", "count"), bios_of(&now) - bios_of(&before));
	CHECK_EQ(json_sum(tool->out, "requests", "bytes"), bytes_of(&now) - bytes_of(&before));
	CHECK_EQ(json_sum(tool->out, "requests", "in_flight"), 0);
}

static const char *bios_lack(void)
{
	const struct proc *tool = tool_try("biolat", "--layer", "top", "1ms", "1");

	if (strstr(tool->err, "not supported by this kernel"))
		return "bios have a device since Linux 5.12";
	return disk_lacks();
}

/* Bios of a request are completed with it; some are merged into one. */
TEST_UNLESS(bios_lack, bios_are_counted_before_they_are_merged)
{
	check_bios(disk_path);
}

/* As many bios in a request as the disk takes segments: single sectors. */
TEST_UNLESS(bios_lack, merged_bios_are_all_counted)
{
	struct proc *work = work_start("disk", disk_path, "merged", "2048", "512"), *tool;
	uint64_t lost;

	tool = trace_work(work, ARGV("biolat", "--layer", "top", "-d", disk_name(), "-p",
				     pid_text(work->pid), "--format", "json"));
	if (work->status == 77)
		SKIP("no io_uring");
	lost = json_sum(tool->out, "run", "lost"); /* a few may want one place in the table */
	CHECK_EQ(json_sum(tool->out, "histogram", "count") + lost, 2048);
	CHECK(lost <= 2048 / 20);
	CHECK_EQ(json_sum(tool->out, "requests", "in_flight"), 0);
}

/* A disk in memory has no requests. */
TEST_UNLESS(bios_lack, bios_of_a_disk_without_requests_are_counted)
{
	const char *n = file_read("/sys/class/zram-control/hot_add"), *path;
	int number = n ? atoi(n) : -1;

	if (number < 0)
		SKIP("no zram");
	path = text_of("/dev/zram%d", number);
	CHECK(file_write(text_of("/sys/block/zram%d/disksize", number), "32M"));
	CHECK_REFUSED("--layer top", "biolat", "-d", path);
	check_bios(path);
	file_write("/sys/class/zram-control/hot_remove", text_of("%d", number));
}

TEST_UNLESS(bios_lack, bios_belong_to_the_process_that_submits)
{
	struct proc *work = work_start("disk", disk_path, "read", "41", "4096", "write", "7",
				       "4096", "flush", "5", "0");
	struct disk_counts before = disk_counts();
	struct proc *tool = trace_pid(work, "biolat", "--layer", "top", "-d", disk_name(), "-F");

	CHECK(has_requests(tool, "operation = read\n", 41));
	CHECK(has_requests(tool, "operation = sync write\n", 7));
	CHECK(has_requests(tool, "operation = flush\n", disk_counts().flushes - before.flushes));
	work = work_start("disk", disk_path, "read", "3", "8192");
	tool = trace_pid(work, "biolat", "--layer", "top", "-d", disk_name(), "--slower", "1ns");
	CHECK_EQ(lines_with(tool->out, text_of(" %-10s read ", disk_name())), 3);
}

/* ---- stacks ---- */

static struct proc *start_reads_and_writes(void)
{
	return work_start("disk", disk_path, "read", "41", "4096", "write", "23", "8192");
}

/* Requests at disks, and bios at the top. */
static const char *const layers[] = { "disk", "top" };

TEST_UNLESS(disk_lacks, time_is_that_of_the_submitters_stack)
{
	for (size_t i = 0; i < (bios_lack() ? 1 : ARRAY_SIZE(layers)); i++) {
		struct proc *work = start_reads_and_writes();
		struct proc *tool = trace_pid(work, "biolat", "-d", disk_name(), "--layer",
					      layers[i], "--stacks", "--format", "json");

		CHECK_EQ(json_sum(tool->out, "stack", "requests"), 41 + 23);
		CHECK(json_sum(tool->out, "stack", "value") > 0);
		CHECK_EQ(json_sum(tool->out, "requests", "in_flight"), 0);
		CHECK_HAS(tool->out, text_of("\"comm\":\"disk\",\"pid\":%d,", work->pid));
		work = start_reads_and_writes();
		tool = trace_pid(work, "biolat", "-d", disk_name(), "--layer", layers[i], "-f");
		CHECK(folded_sum(tool->out, "disk", "main;disk_read") > 0);
		CHECK(folded_sum(tool->out, "disk", "main;disk_write") > 0);
		CHECK(folded_sum(tool->out, NULL, "submit_bio_noacct_nocheck") +
			      folded_sum(tool->out, NULL, "submit_bio_noacct") >
		      0);
	}
}

/* Options on stacks that all tools have, a text that a report then has and one that it lacks. */
static const struct {
	const char *options[3], *has, *lacks;
} stack_options[] = {
	{ { "-U" }, "disk_read;p", "submit_bio" },
	{ { "-K" }, "submit_bio", "disk_read" },
	{ { "--delimited" }, ";-;", ";--;" },
	{ { "--format", "text", "--delimited" }, "    --\n", ";" },
	{ { "--only", "^disk_read$" }, "disk_read", "disk_write" },
	{ { "--without", "^disk_read$" }, "disk_write", "disk_read" },
	{ { "--lines", "-U" }, "disk_read (disk.c:", "submit_bio" },
	{ { "--no-demangle" }, "disk_read", "[unknown]" },
	{ { "--no-runtimes" }, "disk_read", "[unknown]" },
	{ { "--unwind", "fp" }, "submit_bio", "[unknown]" },
	{ { "--symbols-mem", "1M" }, "disk_read", "[disk+0x" },
	{ { "--unwind-mem", "1M" }, "disk_read", "[disk+0x" },
	{ { "--stack-storage-size", "16" }, "disk_read", "[disk+0x" },
	{ { "--entries", "1024" }, "disk_read", "[disk+0x" },
	{ { "--format", "md" }, "disk_read", ";disk_read" },
	{ { "--format", "svg" }, "disk_read", ";disk_read" },
	{ { "--format", "csv", "--stacks" }, ";disk_read;", "device" },
	{ { "--interval", "20s" }, "disk_read", "in flight" },
};

TEST_UNLESS(disk_lacks, options_of_stacks_are_those_of_all_tools)
{
	for (size_t i = 0; i < ARRAY_SIZE(stack_options); i++) {
		const char *const *options = stack_options[i].options;
		struct proc *tool = trace_pid(start_reads_and_writes(), "biolat", "-d", disk_name(),
					      options[0], options[1] ? options[1] : "--stacks",
					      options[2] ? options[2] : "--stacks");

		CHECK_CASE(options[0], !!strstr(tool->out, stack_options[i].has), true);
		CHECK_CASE(options[0], !!strstr(tool->out, stack_options[i].lacks), false);
	}
}

TEST_UNLESS(disk_lacks, slow_requests_have_their_stacks_below)
{
	struct proc *work = start_reads_and_writes(), *tool;

	tool = trace_pid(work, "biolat", "-d", disk_name(), "--slower", "1ns", "--stacks");
	CHECK_EQ(lines_with(tool->out, text_of(" %7d disk  ", work->pid)), 41 + 23);
	CHECK_EQ(count_in(tool->out, "\n    disk_read\n    main\n"), 41);
	CHECK_EQ(count_in(tool->out, "\n    disk_write\n    main\n"), 23);
	CHECK_HAS(tool->err, "user stacks: 100.00 % complete");
	CHECK_EQ(truth_value(tool), 41 + 23);
	tool = trace_pid(start_reads_and_writes(), "biolat", "-d", disk_name(), "--slower", "1ns",
			 "--only", "^disk_write$", "--format", "json");
	CHECK_EQ(lines_with(tool->out, "{\"name\":\"disk_write\","), 23);
	CHECK_EQ(lines_with(tool->out, "\"slow_request\""), 23);
	CHECK_HAS(tool->err, "filtered out by --only or --without: 41 requests, ");
	tool = trace_pid(start_reads_and_writes(), "biolat", "-d", disk_name(), "--slower", "1ns",
			 "-U", "--format", "csv");
	CHECK_EQ(lines_with(tool->out, ";main;disk_read;"), 41);
	CHECK_EQ(lines_with(tool->out, ";submit_bio"), 0);
}

/* The tool doesn't know that there will be a Python. */
TEST_UNLESS(disk_lacks, functions_of_runtimes_are_there_by_themselves)
{
	const char *script = text_of("%s/write.py", folder_make());
	struct proc *tool;

	if (access("/usr/bin/python3", X_OK))
		SKIP("needs package python3");
	CHECK(file_write(script, "import os, sys\n"
				 "def save(fd):\n"
				 "    os.pwrite(fd, b'x' * 4096, 0)\n"
				 "    os.fsync(fd)\n"
				 "fd = os.open(sys.argv[1], os.O_RDWR)\n"
				 "for i in range(40):\n"
				 "    save(fd)\n"));
	tool = tool_run("biolat", "-d", disk_name(), "-f", "--", "/usr/bin/python3", script,
			disk_path);
	CHECK(folded_sum(tool->out, "python3", "<module> (write.py);save (write.py)") > 0);
}

/* ---- a volume of the device mapper on an array of two disks ---- */

#define NULL_NS 20000000 /* completion_nsec of null_blk: tests/vm/init */

static const char *const null_disks[] = { "nullb0", "nullb1" };

static bool set_array(const char *file, const char *value)
{
	return file_write(text_of("/sys/block/md_test/md/%s", file), value);
}

static bool make_array(void)
{
	const char *number;

	if (!file_write("/sys/module/md_mod/parameters/new_array", "md_test"))
		return false;
	set_array("level", "raid0");
	set_array("raid_disks", "2");
	set_array("metadata_version", "none");
	set_array("chunk_size", "65536");
	for (size_t i = 0; i < ARRAY_SIZE(null_disks); i++) {
		number = file_read(text_of("/sys/block/%s/dev", null_disks[i]));
		if (!number || !set_array("new_dev", number))
			return false;
		set_array(text_of("dev-%s/size", null_disks[i]), "32768");
		set_array(text_of("dev-%s/slot", null_disks[i]), text_of("%zu", i));
	}
	return set_array("array_state", "active");
}

/* Requests something of the device mapper for the volume "test". Returns its name, or NULL. */
static const char *ask_mapper(int fd, unsigned long what, uint32_t n_targets)
{
	struct {
		struct dm_ioctl head;
		struct dm_target_spec target;
		char disk[64];
	} request = { .head = { .version = { 4, 0, 0 },
				.data_size = sizeof(request),
				.data_start = sizeof(request.head),
				.target_count = n_targets,
				.name = "test" },
		      .target = { .length = 65536, .target_type = "linear" },
		      .disk = "/dev/md_test 0" };

	if (ioctl(fd, what, &request))
		return NULL;
	return text_of("dm-%u", minor((dev_t)request.head.dev));
}

/* Makes a volume on the array. */
static const char *make_volume(void)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	const char *name = NULL;

	if (fd < 0)
		return NULL;
	if (ask_mapper(fd, DM_DEV_CREATE, 0) && ask_mapper(fd, DM_TABLE_LOAD, 1))
		name = ask_mapper(fd, DM_DEV_SUSPEND, 0); /* without a flag: resume */
	close(fd);
	return name;
}

static char volume[32]; /* "dm-0" */

static const char *volume_lacks(void)
{
	const char *name = *volume || !make_array() ? NULL : make_volume();

	if (name)
		snprintf(volume, sizeof(volume), "%s", name);
	return *volume ? NULL : "no volume on an array of two disks can be made here";
}

/* Requests have the submitter of their bios: nobody else reads from these disks. */
TEST_UNLESS(volume_lacks, a_stack_of_devices_counts_once_at_the_lowest)
{
	struct proc *work = work_start("disk", text_of("/dev/%s", volume), "read", "32", "4096");
	struct proc *tool = trace_pid(work, "biolat", "-D");

	CHECK_EQ(hist_count_of(tool->out, NULL), 32);
	for (size_t i = 0; i < ARRAY_SIZE(null_disks); i++)
		CHECK_EQ(hist_count_of(tool->out, text_of("disk = %s\n", null_disks[i])), 16);
	CHECK_REFUSED("--layer top", "biolat", "-d", volume);
}

static const char *volume_or_bios_lack(void)
{
	const char *lack = volume_lacks();

	return lack ? lack : bios_lack();
}

TEST_UNLESS(volume_or_bios_lack, a_stack_of_devices_counts_once_at_the_top)
{
	const char *path = text_of("/dev/%s", volume);
	struct proc *work = work_start("disk", path, "read", "40", "4096");
	struct proc *tool = trace_pid(work, "biolat", "--layer", "top", "-D");

	CHECK_EQ(hist_count_of(tool->out, NULL), 40);
	CHECK_EQ(hist_count_of(tool->out, text_of("disk = %s\n", volume)), 40);
	check_bios(path);
}

static const char *nulls_lack(void)
{
	return access("/dev/nullb0", F_OK) ? "no disk of a known delay" : NULL;
}

/* Returns the milliseconds that requests of the disk took, as the kernel counts them. */
static uint64_t null_ms(void)
{
	const char *rest = file_read("/proc/diskstats"), *line = line_with(&rest, " nullb0 ", "");
	uint64_t ms = 0;

	sscanf(strstr(line, "nullb0"), "%*s %*s %*s %*s %" SCNu64, &ms);
	return ms;
}

/*
 * Traces n reads of the disk, which handles one and delays the rest. The kernel counts the same
 * time; no request is faster than the disk, and all together take no longer there than the run.
 */
static struct proc *trace_null(struct proc *work, uint64_t n, const char *scheduler)
{
	uint64_t before = null_ms(), start_ns = clock_now_ns(), device_ns, queue_ns, kernel_ns;
	struct proc *tool =
		trace_on_scheduler("nullb0", scheduler, work,
				   argv_on(work, ARGV("biolat", "-d", "nullb0", "--slower", "1ns",
						      "--format", "json")));
	const char *rest = tool ? tool->out : "", *line;

	while ((line = line_with(&rest, "\"slow_request\"", "")))
		CHECK(json_sum(line, "slow_request", "device_ns") >= NULL_NS);
	if (!tool || work->status)
		return NULL;
	CHECK_EQ(truth_value(tool), n);
	device_ns = json_sum(tool->out, "slow_request", "device_ns");
	queue_ns = json_sum(tool->out, "slow_request", "queue_ns");
	kernel_ns = (null_ms() - before) * 1000000;
	printf("%" PRIu64 " requests: device %" PRIu64 ", queue %" PRIu64 ", kernel %" PRIu64
	       " ns\n",
	       n, device_ns, queue_ns, kernel_ns);
	CHECK(device_ns <= clock_now_ns() - start_ns);
	CHECK(queue_ns + device_ns <= kernel_ns + kernel_ns / 32 + 1000000);
	CHECK(queue_ns + device_ns + kernel_ns / 32 + 1000000 >= kernel_ns);
	return tool;
}

TEST_UNLESS(nulls_lack, time_of_requests_is_that_of_their_disk)
{
	trace_null(work_start("disk", "/dev/nullb0", "read", "40", "4096"), 40, "none");
}

/* Requests wait in the scheduler: the k-th for k - 1 others. */
TEST_UNLESS(nulls_lack, time_of_requests_before_the_disk_is_not_the_disks)
{
	struct proc *work = work_start("disk", "/dev/nullb0", "uring", "16", "4096"), *tool;

	tool = trace_null(work, 16, "mq-deadline");
	if (!tool)
		SKIP("no mq-deadline, or no io_uring");
	CHECK(json_sum(tool->out, "slow_request", "queue_ns") > 16 * 15 / 4 * NULL_NS);
}

/* ---- a disk that hangs, and one that fails ---- */

/* A disk whose file is in a file system of this process's child, which can be stopped. */
struct slow_disk {
	int fd;
	pid_t server;
	char path[64];
};

static bool mount_slow(struct slow_disk *disk, const struct fuse_file *file)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fuse < 0 || mount("fuse", file->folder, "fuse", MS_NOSUID | MS_NODEV,
			      text_of("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse)))
		return false;
	disk->server = fork();
	if (!disk->server)
		fuse_serve(fuse, file);
	close(fuse);
	return true;
}

static bool open_slow(struct slow_disk *disk, size_t bad_bytes)
{
	const char *folder = folder_make(), *path = text_of("%s/contents", folder);
	const char *point = folder_make();
	struct fuse_file file = { point, "file", path, false, bad_bytes };
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), opened;

	if (fd < 0 || ftruncate(fd, 1 << 20) || !mount_slow(disk, &file))
		return false;
	close(fd);
	opened = open(text_of("%s/file", point), O_RDONLY | O_CLOEXEC);
	disk->fd = open_loop(opened, disk->path, sizeof(disk->path));
	if (opened >= 0)
		close(opened);
	umount2(point, MNT_DETACH);
	return disk->fd >= 0;
}

static void close_slow(struct slow_disk *disk)
{
	close(disk->fd);
	kill(disk->server, SIGKILL);
}

/* The reports say so while it hangs, and afterwards that nothing is left. */
TEST(requests_in_flight_are_seen_while_a_disk_hangs)
{
	struct proc *works[3], *tool;
	struct slow_disk disk = {};

	if (!open_slow(&disk, 0))
		SKIP("no loop device on a file of FUSE can be made here");
	for (int i = 0; i < 3; i++)
		works[i] = work_start("disk", disk.path, "read", text_of("%d", i + 1), "4096");
	tool = tool_start("biolat", "-d", disk.path, "--interval", "100ms");
	kill(disk.server, SIGSTOP);
	for (int i = 0; i < 3; i++)
		work_go(works[i]);
	CHECK(proc_wait_for(tool, "in flight: 3, oldest "));
	kill(disk.server, SIGCONT);
	for (int i = 0; i < 3; i++)
		work_wait_done(works[i]);
	tool_stop(tool);
	CHECK_EQ(sum_from(tool->out, "count "), 1 + 2 + 3);
	tool = tool_run("biolat", "-d", disk.path, "100ms", "1");
	CHECK_LACKS(tool->out, "in flight");
	close_slow(&disk);
}

/* It lasts longer than definitions of stacks are retained that nothing is counted under. */
TEST(a_request_that_hangs_for_many_reports_has_its_stack)
{
	struct slow_disk disk = {};
	struct proc *work, *tool;

	if (!open_slow(&disk, 0))
		SKIP("no loop device on a file of FUSE can be made here");
	work = work_start("disk", disk.path, "read", "1", "4096");
	tool = tool_start("biolat", "-d", disk.path, "--stacks", "--format", "text", "--interval",
			  "50ms");
	kill(disk.server, SIGSTOP);
	work_go(work);
	for (int i = 0; i < 6000 && !tool->has_ended && count_in(tool->out, "in flight: 1") < 8;
	     i++)
		proc_linger(tool, 20);
	CHECK_LACKS(tool->out, "disk_read");
	kill(disk.server, SIGCONT);
	work_wait_done(work);
	proc_signal(tool, SIGUSR1);
	tool_stop(tool);
	CHECK_HAS(tool->out, "\n    disk_read\n    main\n");
	CHECK_LACKS(tool->err, "without their stack");
	close_slow(&disk);
}

/* The file may not grow any more, to where the disk still writes. */
TEST_UNLESS(disk_lacks, failed_requests_are_counted_by_status)
{
	struct proc *tool;
	int fd = open(disk_path, O_RDWR | O_DIRECT | O_CLOEXEC);

	if (disk_file < 0)
		SKIP("the disk doesn't fail");
	CHECK(!ftruncate(disk_file, DISK_BYTES / 2) && !fcntl(disk_file, F_ADD_SEALS, F_SEAL_GROW));
	tool = tool_start("biolat", "-d", disk_name());
	for (int i = 0; i < 3; i++) {
		static char block[4096] __attribute__((aligned(4096)));

		CHECK(pwrite(fd, block, sizeof(block), DISK_BYTES - 4096) < 0);
	}
	tool_stop(tool);
	CHECK_HAS(tool->out, "failed: 3 (I/O error)\n");
	CHECK_EQ(hist_count_of(tool->out, NULL), 3);
	close(fd);
}

/* The first of four parts can't be read, the last one can. */
TEST_UNLESS(bios_lack, a_bio_fails_with_any_of_its_parts)
{
	static char block[256 << 10] __attribute__((aligned(4096)));
	struct slow_disk disk = {};
	struct proc *tool;
	int fd;

	if (!open_slow(&disk, 64 << 10))
		SKIP("no loop device on a file of FUSE can be made here");
	CHECK(file_write(text_of("/sys/class/block/%s/queue/max_sectors_kb",
				 strrchr(disk.path, '/') + 1),
			 "64"));
	fd = open(disk.path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	tool = tool_start("biolat", "--layer", "top", "-d", disk.path, "-p", pid_text(getpid()));
	CHECK(pread(fd, block, sizeof(block), 0) < (ssize_t)sizeof(block));
	CHECK_EQ(pread(fd, block, sizeof(block), sizeof(block)), sizeof(block));
	tool_stop(tool);
	CHECK_HAS(tool->out, "\nfailed: 1 (I/O error)\n");
	CHECK_EQ(hist_count_of(tool->out, NULL), 2);
	CHECK_LACKS(tool->out, "in flight");
	close(fd);
	close_slow(&disk);
}

/* ---- whose ---- */

TEST_UNLESS(disk_lacks, requests_belong_to_the_process_that_submits)
{
	struct proc *other = work_start("disk", disk_path, "read", "101", "4096");
	struct proc *work = work_start("disk", disk_path, "read", "41", "4096");
	struct proc *tool = tool_start("biolat", "-d", disk_name(), "-P");

	work_do(other);
	work_do(work);
	tool_stop(tool);
	CHECK(has_requests(tool, text_of("pid = %d disk\n", work->pid), 41));
	CHECK(has_requests(tool, text_of("pid = %d disk\n", other->pid), 101));
}

TEST_UNLESS(disk_lacks, requests_of_threads_belong_to_their_process_under_its_name)
{
	struct proc *work = work_start("disk", disk_path, "threads", "41", "4096");
	struct proc *tool = tool_start("biolat", "-d", disk_name(), "-P");

	work_do(work);
	tool_stop(tool);
	CHECK(has_requests(tool, text_of("pid = %d disk\n", work->pid), 41));
}

TEST_UNLESS(disk_lacks, a_filter_selects_who_submits)
{
	struct proc *other = work_start("disk", disk_path, "read", "101", "4096");
	struct proc *work = work_start("disk", disk_path, "read", "41", "4096");
	struct proc *tool = tool_start_on(work, "biolat", "-d", disk_name());

	work_do(other);
	work_do(work);
	tool_stop(tool);
	CHECK(has_requests(tool, NULL, 41));
}

TEST_UNLESS(disk_lacks, requests_that_a_worker_issues_belong_to_who_submits)
{
	struct proc *work = work_start("disk", disk_path, "read", "41", "4096");
	struct proc *tool = trace_on_scheduler(disk_name(), "mq-deadline", work,
					       ARGV("biolat", "-d", disk_name(), "-P"));

	if (!tool)
		SKIP("no mq-deadline");
	CHECK(has_requests(tool, text_of("pid = %d disk\n", work->pid), 41));
}

/* One that finds the table full when it is made is lost, even if it is issued later. */
TEST_UNLESS(disk_lacks, requests_without_room_have_no_other_owner)
{
	struct proc *work = work_start("disk", disk_path, "uring", "256", "4096");
	struct proc *tool = trace_on_scheduler(disk_name(), "mq-deadline", work,
					       ARGV("biolat", "-d", disk_name(), "-P", "--entries",
						    "64", "--format", "json"));

	if (!tool || work->status == 77)
		SKIP("no mq-deadline, or no io_uring");
	CHECK_LACKS(tool->out, "\"comm\":\"kworker");
	CHECK_EQ(json_sum(tool->out, "histogram", "count") + json_sum(tool->out, "run", "lost"),
		 256);
}

/* The disk's cache is flushed by the block layer, for all that wait. */
TEST_UNLESS(disk_lacks, flushes_belong_to_no_process)
{
	struct proc *work = work_start("disk", disk_path, "flush", "7", "0");
	struct disk_counts before = disk_counts();
	struct proc *tool = TRACE_DISK(work, "-P");

	CHECK(has_requests(tool, "pid = 0 [flush]\n", disk_counts().flushes - before.flushes));
	work = work_start("disk", disk_path, "sync", "7", "4096");
	tool = trace_pid(work, "biolat", "-d", disk_name(), "-F");
	CHECK_LACKS(tool->out, "flush");
	CHECK(has_requests(tool, "operation = sync write\n", 7));
}

static const char *cgroup_and_disk_lack(void)
{
	const char *lack = disk_lacks();

	return lack ? lack : cgroups_lack();
}

TEST_UNLESS(cgroup_and_disk_lack, requests_belong_to_a_cgroup)
{
	const char *cgroup = cgroup_make("biolat");
	struct proc *work = work_start("disk", disk_path, "read", "41", "4096"), *tool;

	CHECK(cgroup_add(cgroup, work->pid));
	wait_until_blocked(work->pid);
	tool = TRACE_DISK(work, "-c", cgroup, "--per-cgroup");
	CHECK_EQ(lines_from(tool->out, "cgroup = "), 1);
	CHECK_EQ(lines_with(tool->out, strrchr(cgroup, '/')), 1);
	CHECK(has_requests(tool, "cgroup = ", 41));
}

/*
 * A loop device's worker submits to the disk below, and the kernel charges the reader's cgroup: one
 * of version 1, whose id may be that of another cgroup of version 2.
 */
TEST_UNLESS(cgroup_and_disk_lack, cgroups_are_those_of_version_2)
{
	const char *cgroup = text_of("/sys/fs/cgroup/blkio/tracelets-%d", getpid());
	struct proc *work, *tool;
	char path[64];
	int fd;

	if (mkdir(cgroup, 0755))
		SKIP("block I/O is not controlled by cgroups of version 1");
	fd = open_loop(disk_fd, path, sizeof(path));
	work = work_start("disk", path, "read", "41", "4096");
	CHECK(cgroup_add(cgroup, work->pid));
	wait_until_blocked(work->pid);
	tool = TRACE_DISK(work, "--per-cgroup");
	close(fd);
	CHECK(cgroup_add("/sys/fs/cgroup/blkio", work->pid));
	CHECK(cgroup_remove(cgroup));
	CHECK_EQ(lines_from(tool->out, "cgroup = "), 1);
	CHECK_EQ(lines_with(tool->out, "cgroup = 1 /"), 1);
}

/* ---- formats ---- */

TEST_UNLESS(disk_lacks, json_and_metrics_have_the_same_counts)
{
	struct proc *work = work_start("disk", disk_path, "read", "41", "4096");
	struct proc *tool = trace_pid(work, "biolat", "-d", disk_name(), "-D", "--format", "json");

	CHECK_EQ(json_sum(tool->out, "histogram", "count"), 41);
	CHECK_HAS(tool->out, text_of("\"by\":\"disk\",\"name\":\"%s\",", disk_name()));
	CHECK_HAS(tool->out, "{\"type\":\"requests\",\"in_flight\":0,\"oldest_ns\":0,");
	work = work_start("disk", disk_path, "read", "41", "4096");
	tool = trace_pid(work, "biolat", "-d", disk_name(), "-D", "--format", "prometheus");
	CHECK_EQ(sum_from(tool->out, text_of("tracelets_biolat_request_seconds_count{disk=\"%s\"} ",
					     disk_name())),
		 41);
}
