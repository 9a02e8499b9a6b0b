// SPDX-License-Identifier: GPL-2.0-only
/* Files of reports: whole or not there, and what becomes of those that can't be written. */
#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "base/readfile.h"
#include "run/output.h"
#include "child.h"
#include "folder.h"
#include "silent.h"
#include "unit.h"

#define AT_NS (1774958096ULL * NS_PER_S)

static int count_files(void)
{
	DIR *dir = opendir(folder);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

static void check_file(const char *name, const char *expected)
{
	char *text = readfile(in_folder(name), 1 << 20, NULL);

	CHECK_STR(text, expected);
	free(text);
}

static int write_report(struct output *out, const char *text)
{
	int err = out->n || out->peeked ? 0 : output_check(out);

	if (!err && !(out->path && out->file))
		err = output_begin(out);
	if (!err)
		fputs(text, out->file);
	out->start_unix_ns = AT_NS + out->n * NS_PER_S;
	return err ? err : output_commit(out);
}

TEST(a_file_has_its_name_when_it_is_whole)
{
	struct output out = { .path = in_folder("cpu.svg") };

	CHECK_EQ(output_begin(&out), 0);
	fputs("half", out.file);
	fflush(out.file);
	CHECK_EQ(count_files(), 0);
	output_discard(&out);
	CHECK_EQ(count_files(), 0);
	CHECK_EQ(write_report(&out, "one"), 0);
	check_file("cpu.svg", "one");
	CHECK_EQ(write_report(&out, "two"), 0);
	check_file("cpu.svg", "two");
	CHECK_EQ(count_files(), 1);
}

/* As /dev/stdout > file does: the link stays, and what is in the file already, too. */
TEST(what_stands_for_the_output_is_not_replaced)
{
	struct output out = { .path = in_folder("stdout") };
	int fd, saved_fd = dup(STDOUT_FILENO);
	struct stat st;

	fflush(stdout);
	fd = open(in_folder("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	CHECK_EQ(write(fd, "before ", 7), 7);
	dup2(fd, STDOUT_FILENO);
	CHECK_EQ(symlink("/proc/self/fd/1", out.path), 0);
	CHECK_EQ(write_report(&out, "one "), 0);
	CHECK_EQ(write_report(&out, "two"), 0);
	dup2(saved_fd, STDOUT_FILENO);
	CHECK(!lstat(out.path, &st) && S_ISLNK(st.st_mode));
	check_file("log", "before one two");
	output_discard(&out);
	close(saved_fd);
	close(fd);
}

TEST(standard_output_has_all_reports)
{
	struct output out = {};
	int fd, saved_fd = dup(STDOUT_FILENO);

	fflush(stdout);
	fd = open(in_folder("reports"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	dup2(fd, STDOUT_FILENO);
	CHECK_EQ(write_report(&out, "one "), 0);
	CHECK_EQ(write_report(&out, "two"), 0);
	dup2(saved_fd, STDOUT_FILENO);
	check_file("reports", "one two");
	close(saved_fd);
	close(fd);
}

TEST(a_killed_run_leaves_nothing)
{
	struct output out = { .path = in_folder("cpu.svg") };
	pid_t pid = fork();

	if (!pid) {
		output_begin(&out);
		fputs("half", out.file);
		fflush(out.file);
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	CHECK_EQ(count_files(), 0);
}

TEST(files_have_the_usual_rights)
{
	struct output out = { .path = in_folder("cpu.svg") };
	mode_t mask = umask(0027);
	struct stat st = {};

	CHECK_EQ(write_report(&out, "one"), 0);
	stat(out.path, &st);
	CHECK_EQ(st.st_mode & 0777, 0640);
	umask(mask);
}

TEST(each_report_of_a_series_has_a_file)
{
	struct output out = { .kind = OUTPUT_SERIES,
			      .series.keep = 2,
			      .path = in_folder("cpu-%S.txt") };

	CHECK_EQ(write_report(&out, "one"), 0);
	CHECK_EQ(write_report(&out, "two"), 0);
	CHECK_EQ(write_report(&out, "three"), 0);
	CHECK_EQ(count_files(), 2);
	check_file("cpu-57.txt", "two");
	check_file("cpu-58.txt", "three");
	series_free(&out.series);
}

/* The last file stays, even if the clock was set back and others have later names. */
TEST(the_last_file_is_kept_in_any_case)
{
	struct output out = { .kind = OUTPUT_SERIES,
			      .series.keep = 2,
			      .path = in_folder("cpu-%Y%m%dT%H%M%S.txt") };

	CHECK_EQ(write_report(&out, "one"), 0);
	CHECK_EQ(write_report(&out, "two"), 0);
	CHECK_EQ(output_begin(&out), 0);
	fputs("three", out.file);
	out.start_unix_ns = AT_NS - 3600 * NS_PER_S;
	CHECK_EQ(output_commit(&out), 0);
	CHECK_EQ(count_files(), 2);
	check_file("cpu-20260331T105456.txt", "three");
	check_file("cpu-20260331T115457.txt", "two");
	series_free(&out.series);
}

TEST(a_report_takes_the_place_of_a_peek_at_it)
{
	struct output out = { .kind = OUTPUT_SERIES, .path = in_folder("cpu-%Y%m%d.txt") };

	out.is_peek = true;
	CHECK_EQ(write_report(&out, "half"), 0);
	CHECK_EQ(write_report(&out, "more"), 0);
	check_file("cpu-20260331.txt", "more");
	out.is_peek = false;
	CHECK_EQ(write_report(&out, "whole"), 0);
	check_file("cpu-20260331.txt", "whole");
	CHECK_EQ(out.n_dropped, 0);
	CHECK_EQ(count_files(), 1);
	free(out.peeked);
}

/* Lines that are written as things happen are not written again. */
TEST(a_file_that_is_peeked_at_goes_on)
{
	struct output out = { .goes_on = true, .path = in_folder("waits.txt") };

	CHECK_EQ(output_check(&out), 0);
	CHECK_EQ(output_begin(&out), 0);
	for (int i = 0; i < 2; i++) {
		fputs("one ", out.file);
		out.is_peek = true;
		CHECK_EQ(output_commit(&out), 0);
		CHECK(out.file);
	}
	check_file("waits.txt", "one one ");
	fputs("two", out.file);
	out.is_peek = false;
	CHECK_EQ(output_commit(&out), 0);
	CHECK(!out.file);
	check_file("waits.txt", "one one two");
	CHECK_EQ(count_files(), 1);
	free(out.peeked);
}

TEST(a_peek_takes_no_number)
{
	struct output out = { .kind = OUTPUT_SERIES, .path = in_folder("cpu.txt") };

	CHECK_EQ(write_report(&out, "one"), 0);
	out.is_peek = true;
	CHECK_EQ(write_report(&out, "half of two"), 0);
	check_file("cpu.002.txt", "half of two");
	out.is_peek = false;
	CHECK_EQ(write_report(&out, "two"), 0);
	check_file("cpu.002.txt", "two");
	CHECK_EQ(count_files(), 2);
	CHECK_EQ(out.n_dropped, 0);
	free(out.peeked);
}

/* An hour that comes twice, as a clock that is set back has it. */
TEST(what_has_come_meanwhile_is_not_overwritten)
{
	struct output out = { .kind = OUTPUT_SERIES, .path = in_folder("cpu-%M.txt") };

	CHECK_EQ(write_report(&out, "one"), 0);
	SAID(CHECK_EQ(write_report(&out, "two"), 0));
	check_file("cpu-54.txt", "one");
	CHECK(output_is_failing(&out));
	CHECK_EQ(out.n_dropped, 1);
	CHECK(!unlink(in_folder("cpu-54.txt")));
	SAID(CHECK_EQ(write_report(&out, "three"), 0));
	check_file("cpu-54.txt", "three");
	CHECK(!output_is_failing(&out));
	CHECK_EQ(count_files(), 1);
}

/* Like a full disk: writing fails from some size on. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Writes two reports that exceed a limit, and one without it. Returns the messages. */
static char *write_while_full(struct output *out, const char *text)
{
	return SAID({
		limit_files(1000);
		CHECK_EQ(write_report(out, text), 0);
		CHECK_EQ(write_report(out, text), 0);
		limit_files(RLIM_INFINITY);
		CHECK_EQ(write_report(out, text), 0);
	});
}

static void check_full(enum output_kind kind, size_t n_bytes)
{
	struct output out = { .kind = kind, .path = in_folder("cpu.txt") };
	char *text = until_end(mem_zalloc(n_bytes + 1, 1)), *message;

	memset(text, 'x', n_bytes);
	CHECK_EQ(write_report(&out, "one"), 0);
	message = write_while_full(&out, text);
	CHECK_HAS(message, "File too large (report dropped, tracing continues)\n",
		  "writable again, 2 reports were dropped\n");
	CHECK(!strstr(strstr(message, "report dropped") + 1, "report dropped"));
	CHECK_EQ(out.n_dropped, 2);
	check_file(kind == OUTPUT_SERIES ? "cpu.004.txt" : "cpu.txt", text);
	CHECK_EQ(count_files(), kind == OUTPUT_SERIES ? 2 : 1);
	remove_folder();
}

TEST(a_full_disk_costs_the_reports_of_that_time)
{
	check_full(OUTPUT_SERIES, 1100);
	check_full(OUTPUT_SERIES, 100000);
	check_full(OUTPUT_LATEST, 1100);
	check_full(OUTPUT_LATEST, 100000);
}

TEST(a_folder_that_is_gone_for_a_while)
{
	struct output out = { .kind = OUTPUT_SERIES, .path = in_folder("cpu.txt") };

	CHECK_EQ(write_report(&out, "one"), 0);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	SAID(CHECK_EQ(write_report(&out, "two"), 0));
	CHECK_EQ(out.n_dropped, 1);
	CHECK_EQ(mkdir(folder, 0700), 0);
	SAID(CHECK_EQ(write_report(&out, "three"), 0));
	check_file("cpu.003.txt", "three");
}

/* A draft needs a second descriptor for a moment. */
TEST(a_draft_without_a_descriptor_is_a_dropped_report)
{
	struct output out = { .kind = OUTPUT_SERIES, .path = in_folder("cpu.txt") };
	struct output_draft draft;
	struct rlimit files, none;
	char *message;

	CHECK_EQ(output_begin(&out), 0);
	getrlimit(RLIMIT_NOFILE, &files);
	none = (struct rlimit){ 1, files.rlim_max };
	message = SAID({
		setrlimit(RLIMIT_NOFILE, &none);
		CHECK_EQ(output_set_aside(&out, &draft), 0);
		setrlimit(RLIMIT_NOFILE, &files);
	});
	CHECK_HAS(message, "Too many open files (report dropped, tracing continues)\n");
	CHECK_EQ(out.n_dropped, 1);
	CHECK(!output_take_back(&out, &draft));
	output_drop_draft(&draft);
	CHECK_EQ(count_files(), 0);
}

TEST(one_report_that_fails_is_an_error)
{
	struct output out = { .path = "/nowhere/cpu.svg" };

	SAID(CHECK(output_begin(&out)));
	out.kind = OUTPUT_SERIES;
	SAID(CHECK(output_begin(&out)));
}

/* As a log that was turned over has, where the tool is a container's second process. */
TEST(files_with_names_like_ours_stay)
{
	char *path = in_folder("cpu.svg"), *number = mem_printf("%s.%d", path, (int)getpid());
	struct output out = { .path = until_end(number) };

	CHECK_EQ(write_report(&out, "other"), 0);
	out = (struct output){ .path = path };
	CHECK_EQ(write_report(&out, "one"), 0);
	check_file("cpu.svg", "one");
	check_file(strrchr(number, '/') + 1, "other");
	CHECK_EQ(count_files(), 2);
}

/* Two that have one process number, as in two containers. */
TEST(temporary_names_that_are_taken_stay)
{
	char *name = until_end(mem_printf(".tracelets-%d-0", (int)getpid()));
	struct output out = { .path = in_folder(name) };

	CHECK_EQ(write_report(&out, "other"), 0);
	out = (struct output){ .path = in_folder("cpu.svg") };
	CHECK_EQ(write_report(&out, "one"), 0);
	check_file("cpu.svg", "one");
	check_file(name, "other");
	CHECK_EQ(count_files(), 2);
}

static int check_name_in_folder(const char *name)
{
	return output_check(&(struct output){ .path = in_folder(name) });
}

TEST(names_that_no_file_can_have_are_refused_before)
{
	struct output out = { .path = "" };
	char name[256 + 1] = "";

	memset(name, 'x', 256);
	SAID(CHECK_EQ(output_check(&out), -EINVAL));
	SAID(CHECK_EQ(check_name_in_folder(name), -ENAMETOOLONG));
	out.path = in_folder(name + 1);
	CHECK_EQ(write_report(&out, "one"), 0);
	check_file(name + 1, "one");
	CHECK_EQ(check_name_in_folder("y"), 0);
}

static void check_mounted(void)
{
	char *path = in_folder("cpu.prom"), *other = in_folder("other");
	struct output out = { .kind = OUTPUT_LATEST, .path = path };
	struct stat before = {}, after = {};

	write_report(&out, "much longer");
	out = (struct output){ .path = other };
	write_report(&out, "empty");
	CHECK(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	      !mount(other, path, NULL, MS_BIND, NULL));
	stat(path, &before);
	out = (struct output){ .kind = OUTPUT_LATEST, .path = path };
	CHECK_EQ(write_report(&out, "much longer"), 0);
	CHECK_EQ(write_report(&out, "one"), 0);
	check_file("cpu.prom", "one");
	stat(path, &after);
	CHECK_EQ(after.st_ino, before.st_ino);
	CHECK_EQ(count_files(), 2);
	mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
	SAID(CHECK_EQ(output_check(&out), -EROFS));
}

/* It can't be replaced: what is in it is. */
TEST(a_file_that_is_mounted_by_itself)
{
	if (geteuid())
		SKIP("needs root");
	make_folder();
	check_apart(check_mounted);
}
