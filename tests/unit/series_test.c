// SPDX-License-Identifier: GPL-2.0-only
/* Names of a run's files, what collides, and which files are removed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "run/series.h"
#include "folder.h"
#include "silent.h"
#include "unit.h"

#define AT_NS (1774958096ULL * NS_PER_S) /* 2026-03-31 11:54:56 UTC, the 90th day */

static void check_name(const char *path, unsigned int n, const char *expected)
{
	char *name = series_name(&(struct series){ .path = path }, n, AT_NS);

	CHECK_STR(name, expected);
	free(name);
}

TEST(names_by_number)
{
	check_name("cpu.svg", 7, "cpu.007.svg");
	check_name("cpu.pb.gz", 1000, "cpu.1000.pb.gz");
	check_name("/a.b/cpu", 1, "/a.b/cpu.001");
	check_name("/a.b/.cpu", 1, "/a.b/.cpu.001");
}

TEST(names_by_time)
{
	check_name("cpu-%Y%m%dT%H%M%SZ.pb.gz", 7, "cpu-20260331T115456Z.pb.gz");
	check_name("/x/%j-%H.svg", 1, "/x/090-11.svg");
	check_name("100%%-%d.svg", 1, "100%-31.svg");
}

static void write_file(const char *name, size_t bytes, time_t written_s)
{
	const struct timespec times[2] = { { written_s, 0 }, { written_s, 0 } };
	char *path = in_folder(name);
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	futimens(fd, times);
	close(fd);
	free(path);
}

static bool is_there(const char *name)
{
	char *path = in_folder(name);
	bool there = !access(path, F_OK);

	free(path);
	return there;
}

static int check_series(const char *name, bool overwrite, uint64_t interval_ns)
{
	char *path = in_folder(name);
	struct series series = { .path = path, .overwrite = overwrite };
	int err, stderr_fd;

	stderr_fd = silence_stderr();
	err = series_check(&series, AT_NS, interval_ns);
	restore_stderr(stderr_fd);
	free(path);
	return err;
}

TEST(patterns_are_checked)
{
	make_folder();
	CHECK_EQ(check_series("%Y%m%dT%H%M%S", false, NS_PER_S), 0);
	CHECK(check_series("%Y%m%dT%H%M%S", false, NS_PER_S / 2));
	CHECK_EQ(check_series("%H%M", false, 60 * NS_PER_S), 0);
	CHECK(check_series("%H%M", false, 59 * NS_PER_S));
	CHECK_EQ(check_series("%H%M", false, 0), 0);
	CHECK(check_series("%q", false, 0));
	CHECK(check_series("%", false, 0));
	CHECK(check_series("%Y/%m", false, 0));
	CHECK(check_series("%%", false, NS_PER_S));
	CHECK_EQ(check_series("%%", false, 0), 0);
	remove_folder();
}

TEST(what_is_there_is_not_overwritten_unless_asked)
{
	make_folder();
	CHECK_EQ(check_series("cpu.svg", false, NS_PER_S), 0);
	write_file("cpu.007.svg", 1, 1);
	CHECK(check_series("cpu.svg", false, NS_PER_S));
	CHECK_EQ(check_series("cpu.svg", true, NS_PER_S), 0);
	CHECK_EQ(check_series("cpu", false, NS_PER_S), 0);
	CHECK_EQ(check_series("pu.svg", false, NS_PER_S), 0);
	CHECK_EQ(check_series("cpu-%H%M.svg", false, 60 * NS_PER_S), 0);
	write_file("cpu-1154.svg", 1, 1);
	CHECK(check_series("cpu-%H%M.svg", false, 60 * NS_PER_S));
	CHECK_EQ(check_series("cpu-%H%M.svg", true, 60 * NS_PER_S), 0);
	CHECK_EQ(check_series("cpu-%M%S.svg", false, 60 * NS_PER_S), 0);
	remove_folder();
}

static void prune(const char *name, uint32_t keep, uint64_t keep_bytes)
{
	char *path = in_folder(name);

	series_prune(&(struct series){ .path = path, .keep = keep, .keep_bytes = keep_bytes }, "");
	free(path);
}

/* What is not of the pattern stays, however alike. */
TEST(the_oldest_by_name_are_removed)
{
	static const char *const others[] = {
		"cpu-20260101T000000Z.pb",	"cpu-2026010T000000Z.pb.gz",
		"cpu-20260101T000000Z.pb.gz.1", "xcpu-20260101T000000Z.pb.gz",
		"cpu-20260101t000000Z.pb.gz",	"cpu-2026o101T000000Z.pb.gz"
	};
	const char *pattern = "cpu-%Y%m%dT%H%M%SZ.pb.gz";

	make_folder();
	for (int i = 0; i < 6; i++)
		write_file(others[i], 1, 1);
	write_file("cpu-20251231T235959Z.pb.gz", 100, 9);
	write_file("cpu-20260101T000000Z.pb.gz", 100, 8);
	write_file("cpu-20260101T000001Z.pb.gz", 100, 7);
	prune(pattern, 0, 0);
	prune(pattern, 3, 300);
	CHECK(is_there("cpu-20251231T235959Z.pb.gz"));
	prune(pattern, 2, 0);
	CHECK(!is_there("cpu-20251231T235959Z.pb.gz"));
	CHECK(is_there("cpu-20260101T000000Z.pb.gz"));
	prune(pattern, 0, 150);
	CHECK(!is_there("cpu-20260101T000000Z.pb.gz"));
	CHECK(is_there("cpu-20260101T000001Z.pb.gz"));
	prune(pattern, 0, 1);
	CHECK(is_there("cpu-20260101T000001Z.pb.gz"));
	for (int i = 0; i < 6; i++)
		CHECK(is_there(others[i]));
	remove_folder();
}

TEST(the_oldest_of_names_that_come_again_are_those_written_first)
{
	static const char *const patterns[] = { "%H%M", "%d%H%M", "%Y%H%M", "%m%dT%H%M",
						"%Y%mT%H%M" };
	static const char *const last[] = { "2359", "312359", "20262359", "1231T2359",
					    "202612T2359" };
	static const char *const next[] = { "0000", "010000", "20260000", "0101T0000",
					    "202612T0000" };

	make_folder();
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		write_file(last[i], 1, 60);
		write_file(next[i], 1, 120);
		prune(patterns[i], 1, 0);
		CHECK(is_there(next[i]) && !is_there(last[i]));
	}
	remove_folder();
}

/* Numbers begin again; a folder or a link of such a name is no report. */
TEST(the_oldest_by_number_are_those_written_first)
{
	char *path;

	make_folder();
	write_file("cpu.001.svg", 1, 900);
	write_file("cpu.002.svg", 1, 800);
	write_file("cpu.1000.svg", 1, 700);
	path = in_folder("cpu.003.svg");
	CHECK(!symlink("/etc/passwd", path));
	free(path);
	path = in_folder("cpu.004.svg");
	CHECK(!mkdir(path, 0700));
	free(path);
	prune("cpu.svg", 2, 0);
	CHECK(is_there("cpu.001.svg") && is_there("cpu.002.svg") && !is_there("cpu.1000.svg"));
	prune("cpu.svg", 1, 0);
	CHECK(is_there("cpu.001.svg") && !is_there("cpu.002.svg"));
	CHECK(is_there("cpu.003.svg") && is_there("cpu.004.svg"));
	remove_folder();
}
