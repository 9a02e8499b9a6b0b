// SPDX-License-Identifier: GPL-2.0-only
/* Names of a run's files, what collides, and which files are removed. */
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

TEST(a_percent_sign_is_no_time)
{
	CHECK(!series_is_timed("100%%.svg"));
	CHECK(!series_is_timed("/%Y/cpu.svg"));
	CHECK(series_is_timed("%%%Y"));
	check_name("100%%.svg", 1, "100%.001.svg");
	check_name("%%Y.svg", 1, "%Y.001.svg");
	CHECK_STR(until_end(series_plain_path("/%%/100%%.svg")), "/%%/100%.svg");
	CHECK_STR(until_end(series_plain_path("%%%Y")), "%%%Y");
}

static void write_file(const char *name, size_t bytes)
{
	int fd = open(in_folder(name), O_CREAT | O_WRONLY | O_TRUNC, 0600);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	close(fd);
}

static bool is_there(const char *name)
{
	return !access(in_folder(name), F_OK);
}

/* For 60 reports. */
static int check_series(const char *name, uint64_t interval_ns)
{
	struct series series = { .path = in_folder(name) };
	int err;

	SAID({
		err = series_check_pattern(series.path, interval_ns, 60);
		if (!err)
			err = series_check(&series, AT_NS);
	});
	return err;
}

TEST(patterns_are_checked)
{
	CHECK_EQ(check_series("%Y%m%dT%H%M%S", NS_PER_S), 0);
	CHECK(check_series("%Y%m%dT%H%M%S", NS_PER_S / 2));
	CHECK_EQ(check_series("%H%M", 60 * NS_PER_S), 0);
	CHECK(check_series("%H%M", 59 * NS_PER_S));
	CHECK_EQ(check_series("%H%M", 0), 0);
	CHECK(check_series("%q", 0));
	CHECK(check_series("%", 0));
	CHECK(check_series("%Y/%m", 0));
	CHECK(check_series("x-%Q", 0));
	CHECK_EQ(check_series("%%", NS_PER_S), 0);
	CHECK_EQ(check_series("%%", 0), 0);
}

static int check_n(const char *pattern, double interval_s, uint64_t n)
{
	int err;

	SAID(err = series_check_pattern(pattern, (uint64_t)(interval_s * NS_PER_S), n));
	return err;
}

/* 28 days are the shortest month; 365 the shortest year. */
TEST(names_that_repeat_are_refused)
{
	CHECK_EQ(check_n("x-%S", 1, 60), 0);
	CHECK(check_n("x-%S", 1, 61));
	CHECK(check_n("x-%S", 1.9, 60));
	CHECK_EQ(check_n("x-%S", 90, 1), 0);
	CHECK(check_n("x-%H%S", 1, 61)); /* without the minute */
	CHECK_EQ(check_n("x-%H%M", 60, 1440), 0);
	CHECK(check_n("x-%H%M", 60, 1441));
	CHECK(check_n("x-%H%M", 60, UINT64_MAX));
	CHECK_EQ(check_n("x-%d", 86400, 28), 0);
	CHECK(check_n("%Y-%d", 86400, 29));
	CHECK_EQ(check_n("x-%m%d", 86400, 365), 0);
	CHECK(check_n("x-%j", 86400, 366));
	CHECK_EQ(check_n("%Y-%j", 86400, UINT64_MAX), 0);
	CHECK_EQ(check_n("%Y%m%dT%H%M%S", 60, UINT64_MAX), 0);
	CHECK_EQ(check_n("%S", 0, UINT64_MAX), 0);
}

TEST(names_that_become_too_long_are_refused)
{
	char name[255] = "";

	memset(name, 'x', 252);
	CHECK(check_series(name, NS_PER_S)); /* with .001 */
	name[240] = '\0';
	CHECK_EQ(check_series(name, NS_PER_S), 0);
	memcpy(name + 240, "%Y%m%d%H%M%S", 13);
	CHECK_EQ(check_series(name, NS_PER_S), 0);
	memcpy(name + 240, "T%Y%m%dT%H%M%S", 15);
	CHECK(check_series(name, NS_PER_S));
}

TEST(what_is_there_is_not_overwritten)
{
	CHECK_EQ(check_series("cpu.svg", NS_PER_S), 0);
	write_file("cpu.007.svg", 1);
	CHECK(check_series("cpu.svg", NS_PER_S));
	CHECK_EQ(check_series("cpu", NS_PER_S), 0);
	CHECK_EQ(check_series("pu.svg", NS_PER_S), 0);
	CHECK_EQ(check_series("cpu-%H%M.svg", 60 * NS_PER_S), 0);
	write_file("cpu-1154.svg", 1);
	CHECK(check_series("cpu-%H%M.svg", 60 * NS_PER_S));
	CHECK_EQ(check_series("cpu-%M%S.svg", 60 * NS_PER_S), 0);
}

static void write_next(struct series *series, const char *name, size_t bytes)
{
	write_file(name, bytes);
	series_keep(series, in_folder(name));
}

/* By when this run wrote them: the clock may be set back, and names without a date come again. */
TEST(files_written_first_are_removed_whatever_their_names_say)
{
	struct series series = { .path = "cpu-%H%M.svg", .keep = 2 };

	write_next(&series, "cpu-2358.svg", 1);
	write_next(&series, "cpu-2359.svg", 1);
	CHECK(is_there("cpu-2358.svg"));
	write_next(&series, "cpu-0000.svg", 1);
	CHECK(!is_there("cpu-2358.svg") && is_there("cpu-2359.svg"));
	write_next(&series, "cpu-0000.svg", 1); /* again */
	CHECK(is_there("cpu-0000.svg") && is_there("cpu-2359.svg"));
	write_next(&series, "cpu-2359.svg", 1);
	write_next(&series, "cpu-0001.svg", 1);
	CHECK(is_there("cpu-2359.svg") && is_there("cpu-0001.svg") && !is_there("cpu-0000.svg"));
	series_free(&series);
}

TEST(files_of_others_stay_and_do_not_count)
{
	struct series series = { .path = "cpu-%Y%m%d.svg", .keep = 2 };
	char *path;

	write_file("cpu-20990101.svg", 1);
	write_file("cpu-20250101.svg", 1);
	write_next(&series, "cpu-20260101.svg", 1);
	write_next(&series, "cpu-20260102.svg", 1);
	CHECK(!unlink(in_folder("cpu-20260101.svg")));
	write_next(&series, "cpu-20260103.svg", 1); /* one has gone: two are left */
	CHECK(is_there("cpu-20260102.svg") && is_there("cpu-20260103.svg"));
	CHECK(!mkdir(in_folder("cpu-20260101.svg"), 0700));
	path = in_folder("cpu-20260102.svg");
	CHECK(!unlink(path) && !symlink("/etc/passwd", path)); /* another's now */
	write_next(&series, "cpu-20260104.svg", 1);
	write_next(&series, "cpu-20260105.svg", 1);
	CHECK(is_there("cpu-20260102.svg") && !is_there("cpu-20260103.svg"));
	CHECK(is_there("cpu-20990101.svg") && is_there("cpu-20250101.svg"));
	CHECK(is_there("cpu-20260101.svg") && is_there("cpu-20260105.svg"));
	series_free(&series);
}

TEST(files_are_kept_by_their_bytes_and_the_latest_in_any_case)
{
	struct series series = { .path = "cpu.svg", .keep_bytes = 250 };

	write_next(&series, "cpu.001.svg", 100);
	write_next(&series, "cpu.002.svg", 100);
	CHECK(is_there("cpu.001.svg"));
	write_next(&series, "cpu.003.svg", 100);
	CHECK(!is_there("cpu.001.svg") && is_there("cpu.002.svg"));
	write_next(&series, "cpu.004.svg", 1000);
	CHECK(!is_there("cpu.003.svg") && is_there("cpu.004.svg"));
	series_free(&series);
}

/* A folder or a link of such a name is no report. */
TEST(only_a_file_with_a_number_is_in_the_way)
{
	CHECK(!symlink("/etc/passwd", in_folder("cpu.003.svg")));
	CHECK(!mkdir(in_folder("cpu.004.svg"), 0700));
	CHECK_EQ(check_series("cpu.svg", NS_PER_S), 0);
	write_file("cpu.1000.svg", 1);
	CHECK(check_series("cpu.svg", NS_PER_S));
}
