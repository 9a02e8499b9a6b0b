// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live view on a pseudo terminal: what is drawn, how it ends, and that the terminal is given
 * back.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "live.h"

#define OPEN_SCREEN  "\033[?1049h"
#define CLOSE_SCREEN "\033[?1049l"

struct terminal {
	int master, slave; /* the test's own, which keeps it alive */
	char name[64], text[1 << 20];
	size_t n;
};

static bool terminal_open(struct terminal *t, unsigned short rows)
{
	struct winsize size = { .ws_row = rows, .ws_col = 80 };

	t->n = 0;
	t->text[0] = 0;
	t->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (t->master < 0 || grantpt(t->master) || unlockpt(t->master) ||
	    ptsname_r(t->master, t->name, sizeof(t->name)))
		return false;
	t->slave = open(t->name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return t->slave >= 0 && !ioctl(t->slave, TIOCSWINSZ, &size);
}

static void terminal_close(struct terminal *t)
{
	close(t->slave);
	close(t->master);
}

static void terminal_read(struct terminal *t)
{
	ssize_t n;

	while ((n = read(t->master, t->text + t->n, sizeof(t->text) - 1 - t->n)) > 0)
		t->n += (size_t)n;
	t->text[t->n] = '\0';
}

static size_t screens_in(const char *text)
{
	return count_in(text, "\033[H");
}

/* Until so many screens have been drawn, or the tool has ended. */
static void wait_for_screens(struct proc *tool, struct terminal *t, size_t n)
{
	for (int i = 0; i < 1200 && screens_in(t->text) < n && !tool->has_ended; i++) {
		proc_linger(tool, 50);
		terminal_read(t);
	}
	CHECK(screens_in(t->text) >= n);
}

static bool has_echo(const struct terminal *t)
{
	struct termios keys;

	return !tcgetattr(t->slave, &keys) && (keys.c_lflag & (ECHO | ICANON)) == (ECHO | ICANON);
}

static bool use_terminal(void *arg)
{
	int fd = open(arg, O_RDWR | O_NOCTTY);

	return fd >= 0 && dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0;
}

/* The table of the whole run stands on the terminal as it was. */
static void check_given_back(struct proc *tool, struct terminal *t, const char *title,
			     const char *row)
{
	const char *end;

	proc_finish(tool);
	terminal_read(t);
	CHECK_STATUS(tool, 0);
	CHECK(has_echo(t));
	end = strstr(t->text, CLOSE_SCREEN);
	CHECK(end);
	CHECK(end && !strstr(end, OPEN_SCREEN));
	CHECK(end && strstr(end, title));
	CHECK(end && strstr(end, row));
}

static struct terminal terminal;

static struct proc *start_top(const char *tool, const struct proc *work, const char *interval)
{
	return tool_launch_in(use_terminal, terminal.name,
			      ARGV(tool, "--top", "--interval", interval, "-p",
				   pid_text(work->pid)));
}

/* The tools that have the view; what a workload does that it is told to, and where that is seen. */
static const struct {
	const char *tool;
	const char *work[3];
	const char *title, *row;
} views[] = {
	{ "profile", { "spin" }, "FUNCTION\r\n", "spin_hot" },
	{ "offcputime", { "calls", "hung", "1" }, "FUNCTION\r\n", "read" },
	{ "pagefaults", { "faults", "anon:1009" }, "FUNCTION\r\n", "  touch_pages\r\n" },
	{ "syscount", { "calls", "plain", "1009" }, "SYSCALL ", "getppid                    100" },
};

/* The first screen comes before anything is traced, each other one after an interval. */
static void check_view(size_t i)
{
	struct proc *work, *tool;

	work = work_start(views[i].work[0], views[i].work[1], views[i].work[2]);
	tool = start_top(views[i].tool, work, "200ms");
	wait_for_screens(tool, &terminal, 2);
	CHECK(!has_echo(&terminal));
	CHECK_EQ(lines_with(terminal.text, OPEN_SCREEN), 1);
	CHECK_HAS(terminal.text, "(q quits)\r\n");
	work_go(work);
	wait_for_screens(tool, &terminal, screens_in(terminal.text) + 10);
	CHECK_HAS(terminal.text, views[i].title);
	CHECK_EQ(write(terminal.master, "xq", 2), 2);
	check_given_back(tool, &terminal, views[i].title, views[i].row);
	proc_kill(work);
}

TEST(a_table_is_drawn_again_and_again_until_q)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (!terminal_open(&terminal, 40))
			SKIP("no pseudo terminals");
		check_view(i);
		terminal_close(&terminal);
	}
}

/* Off CPU, what calls all others waits by itself nowhere. */
/* First what all stacks have; older kernels of arm64 give a waiting thread's stack that leaf. */
static const char *first_by_total(const char *text)
{
	return strstr(text, "  __switch_to\r\n") ? "  __switch_to\r\n          0 us   0.00 "
						 : "FUNCTION\r\n          0 us   0.00 ";
}

TEST(a_key_sorts_by_total)
{
	for (size_t i = 0; i < 3; i++) { /* those with stacks */
		struct proc *work, *tool;

		if (!terminal_open(&terminal, 40))
			SKIP("no pseudo terminals");
		work = work_start(views[i].work[0], views[i].work[1], views[i].work[2]);
		tool = start_top(views[i].tool, work, "200ms");
		wait_for_screens(tool, &terminal, 2);
		work_go(work);
		wait_for_screens(tool, &terminal, screens_in(terminal.text) + 5);
		CHECK_HAS(terminal.text, "(t sorts by total, q quits)\r\n");
		CHECK_EQ(write(terminal.master, "t", 1), 1);
		wait_for_screens(tool, &terminal, screens_in(terminal.text) + 3);
		CHECK_HAS(terminal.text, "(s sorts by self, q quits)\r\n");
		CHECK_EQ(write(terminal.master, "q", 1), 1);
		check_given_back(tool, &terminal,
				 i == 1 ? first_by_total(terminal.text) : views[i].title,
				 views[i].row);
		terminal_close(&terminal);
		proc_kill(work);
	}
}

TEST(wall_time_has_it_too)
{
	struct proc *work = work_start("spin"), *tool;

	if (!terminal_open(&terminal, 40))
		SKIP("no pseudo terminals");
	tool = tool_launch_in(use_terminal, terminal.name,
			      ARGV("profile", "--wall", "--top", "--interval", "200ms", "-p",
				   pid_text(work->pid)));
	wait_for_screens(tool, &terminal, 2);
	work_go(work);
	wait_for_screens(tool, &terminal, screens_in(terminal.text) + 5);
	CHECK_EQ(write(terminal.master, "q", 1), 1);
	check_given_back(tool, &terminal, "FUNCTION\r\n", "spin_hot");
	terminal_close(&terminal);
	proc_kill(work);
}

TEST(syscount_has_it_by_process_too)
{
	struct proc *work = work_start("calls", "plain", "1009"), *tool;
	const char *row = text_of("%-6d calls               101", work->pid);

	if (!terminal_open(&terminal, 24))
		SKIP("no pseudo terminals");
	tool = tool_launch_in(use_terminal, terminal.name,
			      ARGV("syscount", "-P", "--interval", "200ms", "-p",
				   pid_text(work->pid), "--top"));
	wait_for_screens(tool, &terminal, 2);
	work_go(work);
	wait_for_screens(tool, &terminal, screens_in(terminal.text) + 10);
	CHECK_EQ(write(terminal.master, "q", 1), 1);
	check_given_back(tool, &terminal, "PID    COMM ", row);
	terminal_close(&terminal);
	proc_kill(work);
}

TEST(signals_give_the_terminal_back)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct proc *work = work_start("spin"), *tool;

	work_go(work);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (!terminal_open(&terminal, 24))
			SKIP("no pseudo terminals");
		tool = start_top("profile", work, "200ms");
		wait_for_screens(tool, &terminal, 3);
		proc_signal(tool, signals[i]);
		check_given_back(tool, &terminal, "FUNCTION\r\n", "spin_hot");
		terminal_close(&terminal);
	}
	proc_kill(work);
}

/* Rows of the last screen that is whole. */
static size_t rows_of_last_screen(char *text)
{
	char *last = NULL, *before = NULL;

	for (char *at = text; (at = strstr(at, "\033[H")); at++) {
		before = last;
		last = at;
	}
	if (!before)
		return 0;
	*last = '\0';
	return lines_with(before, "");
}

TEST(a_screen_fits_its_terminal_as_that_changes)
{
	struct winsize size = { .ws_row = 5, .ws_col = 80 };
	struct proc *work, *tool;
	size_t n;

	if (!terminal_open(&terminal, 4))
		SKIP("no pseudo terminals");
	work = work_start("spin");
	work_go(work);
	tool = start_top("profile", work, "200ms");
	wait_for_screens(tool, &terminal, 3);
	n = screens_in(terminal.text);
	CHECK_EQ(ioctl(terminal.slave, TIOCSWINSZ, &size), 0);
	wait_for_screens(tool, &terminal, n + 3);
	proc_signal(tool, SIGINT);
	check_given_back(tool, &terminal, "FUNCTION\r\n", "spin_hot");
	CHECK_EQ(rows_of_last_screen(terminal.text), 5);
	terminal_close(&terminal);
	proc_kill(work);
}

/* The longest line of the last screen that is whole. */
static size_t columns_of_last_screen(char *text)
{
	size_t longest = 0, length;

	rows_of_last_screen(text); /* cuts the text behind it */
	for (char *line = text, *at; (at = strstr(line, "\033[K")); line = at + 1) {
		length = strcspn(at + 3, "\r\n");
		longest = length > longest ? length : longest;
	}
	return longest;
}

/* The table with all of its columns would take 103. */
TEST(columns_that_do_not_fit_are_left_out)
{
	struct proc *work, *tool;

	if (!terminal_open(&terminal, 24))
		SKIP("no pseudo terminals");
	work = work_start("calls", "plain", "1009");
	tool = tool_launch_in(use_terminal, terminal.name,
			      ARGV("syscount", "-L", "--by-process-and-syscall", "--interval",
				   "200ms", "-p", pid_text(work->pid), "--top"));
	wait_for_screens(tool, &terminal, 2);
	work_go(work);
	wait_for_screens(tool, &terminal, 8);
	proc_signal(tool, SIGINT);
	check_given_back(tool, &terminal, "PID    COMM ", "calls");
	CHECK_HAS(terminal.text, "TIME (us)    AVG\r\n");
	CHECK(columns_of_last_screen(terminal.text) <= 80);
	terminal_close(&terminal);
	proc_kill(work);
}

static bool is_stopped(const struct proc *tool)
{
	const char *stat = file_read(text_of("/proc/%d/stat", tool->pid));

	return stat && strstr(stat, ") T ");
}

TEST(a_stopped_tool_gives_the_terminal_back_until_it_goes_on)
{
	struct proc *work = work_start("spin"), *tool;
	size_t n;

	if (!terminal_open(&terminal, 24))
		SKIP("no pseudo terminals");
	work_go(work);
	tool = start_top("profile", work, "200ms");
	wait_for_screens(tool, &terminal, 3);
	proc_signal(tool, SIGTSTP);
	for (int i = 0; i < 100 && !is_stopped(tool); i++)
		proc_linger(tool, 50);
	terminal_read(&terminal);
	CHECK(is_stopped(tool));
	CHECK(has_echo(&terminal));
	CHECK_EQ(lines_with(terminal.text, CLOSE_SCREEN), 1);
	n = screens_in(terminal.text);
	proc_signal(tool, SIGCONT);
	wait_for_screens(tool, &terminal, n + 2);
	CHECK(!has_echo(&terminal));
	CHECK_EQ(write(terminal.master, "q", 1), 1);
	proc_finish(tool);
	CHECK_STATUS(tool, 0);
	CHECK(has_echo(&terminal));
	terminal_close(&terminal);
	proc_kill(work);
}

/* Without waiting for the next report, which would take an hour. */
TEST(a_new_size_is_drawn_at_once)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		struct proc *work, *tool;

		if (!terminal_open(&terminal, 24))
			SKIP("no pseudo terminals");
		work = work_start(views[i].work[0], views[i].work[1], views[i].work[2]);
		tool = start_top(views[i].tool, work, "3600");
		for (size_t n = 1; n < 5; n++) {
			wait_for_screens(tool, &terminal, n);
			proc_signal(tool, SIGWINCH);
		}
		CHECK_EQ(write(terminal.master, "q", 1), 1);
		proc_finish(tool);
		CHECK_STATUS(tool, 0);
		CHECK(has_echo(&terminal));
		terminal_close(&terminal);
		proc_kill(work);
	}
}

TEST(without_a_terminal_it_is_refused)
{
	static const char *const tools[] = { "profile", "offcputime", "pagefaults", "syscount" };

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		CHECK_REFUSED("--top: standard output is not a terminal", tools[i], "--top");
}

TEST(it_excludes_other_formats)
{
	CHECK_REFUSED("exclude", "profile", "--top", "--format", "json");
	CHECK_REFUSED("exclude", "profile", "--top", "--output", "/dev/null");
	CHECK_REFUSED("exclude", "profile", "--top", "--folded");
	CHECK_REFUSED("exclude", "syscount", "--top", "--format", "json");
	CHECK_REFUSED("exclude", "syscount", "--top", "--in-flight");
}
