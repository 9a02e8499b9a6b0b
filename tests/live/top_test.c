// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live view on a pseudo terminal: what is drawn, how it ends, and that the terminal is given
 * back.
 */
#include <sys/ioctl.h>
#include <termios.h>

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

	tool_finish(tool);
	terminal_read(t);
	CHECK(has_echo(t));
	end = strstr(t->text, CLOSE_SCREEN);
	CHECK(end);
	CHECK(end && !strstr(end, OPEN_SCREEN));
	CHECK(end && strstr(end, title));
	CHECK(end && strstr(end, row));
}

static struct terminal terminal;

static const char *terminals_lack(void)
{
	bool can = terminal_open(&terminal, 24);

	if (can)
		terminal_close(&terminal);
	return can ? NULL : "no pseudo terminals";
}

static void press(const char *keys)
{
	CHECK_EQ(write(terminal.master, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* A tool that shows a workload on the terminal. */
struct view {
	struct proc *work, *tool;
};

static struct view open_view(int rows, struct proc *work, const char *const argv[])
{
	CHECK(terminal_open(&terminal, (unsigned short)rows));
	return (struct view){ work,
			      tool_launch_in(use_terminal, terminal.name, argv_on(work, argv)) };
}

#define OPEN_VIEW(rows, work, ...) open_view(rows, work, ARGV(__VA_ARGS__))
#define EVERY_200_MS		   "--top", "--interval", "200ms"

static void close_view(const struct view *view)
{
	terminal_close(&terminal);
	proc_kill(view->work);
}

/* So many more of them. */
static void watch(const struct view *view, size_t n_screens)
{
	wait_for_screens(view->tool, &terminal, screens_in(terminal.text) + n_screens);
}

#define ENOUGH_NS 300000000 /* of CPU time, for samples */

/* The workload goes once the view is there, and is seen in so many more screens. */
static void watch_work(const struct view *view, size_t n_screens)
{
	bool spins = !strcmp(view->work->name, "spin");

	wait_for_screens(view->tool, &terminal, 2);
	work_go(view->work);
	watch(view, n_screens);
	while (spins && !view->tool->has_ended && thread_cpu_ns(view->work->pid) < ENOUGH_NS)
		watch(view, 2);
}

/* The tools that have the view; what a workload does that it is told to, and where that is seen. */
static const struct {
	const char *tool;
	const char *work[4];
	const char *title, *row, *option;
} views[] = {
	{ "profile", { "spin" }, "FUNCTION\r\n", "spin_hot" },
	{ "offcputime", { "calls", "hung", "1" }, "FUNCTION\r\n", "read" },
	{ "pagefaults", { "faults", "anon:1009" }, "FUNCTION\r\n", "  touch_pages\r\n" },
	{ "syscount", { "calls", "plain", "1009" }, "SYSCALL ", "getppid                    100" },
	{ "profile", { "spin" }, "FUNCTION\r\n", "spin_hot", "--wall" },
	{ "syscount",
	  { "calls", "plain", "1009" },
	  "PID    COMM ",
	  " calls               101",
	  "-P" },
};

#define N_VIEWS (sizeof(views) / sizeof(views[0]))

/* The first screen comes before anything is traced, each other one after an interval. */
TEST_UNLESS(terminals_lack, a_table_is_drawn_again_and_again_until_q)
{
	for (size_t i = 0; i < N_VIEWS; i++) {
		struct view view = OPEN_VIEW(40, work_start_argv(views[i].work), views[i].tool,
					     EVERY_200_MS, views[i].option);

		wait_for_screens(view.tool, &terminal, 2);
		CHECK(!has_echo(&terminal));
		CHECK_EQ(lines_with(terminal.text, OPEN_SCREEN), 1);
		CHECK_HAS(terminal.text, "(q quits)\r\n");
		watch_work(&view, 10);
		CHECK_HAS(terminal.text, views[i].title);
		press("xq");
		check_given_back(view.tool, &terminal, views[i].title, views[i].row);
		close_view(&view);
	}
}

TEST_UNLESS(terminals_lack, a_terminal_gets_text)
{
	struct proc *work = work_start("pingpong", "101");

	CHECK(terminal_open(&terminal, 24));
	tool_run_in(use_terminal, terminal.name, "offcputime", "-p", pid_text(work->pid), "300ms");
	terminal_read(&terminal);
	CHECK_HAS(terminal.text, "    work_wait_go\r\n");
	terminal_close(&terminal);
}

/* First what all stacks have; older kernels of arm64 give a waiting thread's stack that leaf. */
static const char *first_by_total(const char *text)
{
	return strstr(text, "  __switch_to\r\n") ? "  __switch_to\r\n          0 us   0.00 "
						 : "FUNCTION\r\n          0 us   0.00 ";
}

/* Off CPU, what calls all others waits by itself nowhere. */
TEST_UNLESS(terminals_lack, a_key_sorts_by_total)
{
	for (size_t i = 0; i < 3; i++) { /* those with stacks */
		struct view view = OPEN_VIEW(40, work_start_argv(views[i].work), views[i].tool,
					     EVERY_200_MS, views[i].option);

		watch_work(&view, 5);
		CHECK_HAS(terminal.text, "(t sorts by total, q quits)\r\n");
		press("t");
		watch(&view, 3);
		CHECK_HAS(terminal.text, "(s sorts by self, q quits)\r\n");
		press("q");
		check_given_back(view.tool, &terminal,
				 i == 1 ? first_by_total(terminal.text) : views[i].title,
				 views[i].row);
		close_view(&view);
	}
}

TEST_UNLESS(terminals_lack, signals_give_the_terminal_back)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct view view = OPEN_VIEW(24, work_start("spin"), "profile", EVERY_200_MS);

		watch_work(&view, 3);
		proc_signal(view.tool, signals[i]);
		check_given_back(view.tool, &terminal, "FUNCTION\r\n", "spin_hot");
		close_view(&view);
	}
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

TEST_UNLESS(terminals_lack, a_screen_fits_its_terminal_as_that_changes)
{
	struct winsize size = { .ws_row = 5, .ws_col = 80 };
	struct view view = OPEN_VIEW(4, work_start("spin"), "profile", EVERY_200_MS);

	watch_work(&view, 3);
	CHECK_EQ(ioctl(terminal.slave, TIOCSWINSZ, &size), 0);
	watch(&view, 3);
	proc_signal(view.tool, SIGINT);
	check_given_back(view.tool, &terminal, "FUNCTION\r\n", "spin_hot");
	CHECK_EQ(rows_of_last_screen(terminal.text), 5);
	close_view(&view);
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
TEST_UNLESS(terminals_lack, columns_that_do_not_fit_are_left_out)
{
	struct view view = OPEN_VIEW(24, work_start("calls", "plain", "1009"), "syscount", "-L",
				     "--by-process-and-syscall", EVERY_200_MS);

	watch_work(&view, 8);
	proc_signal(view.tool, SIGINT);
	check_given_back(view.tool, &terminal, "PID    COMM ", "calls");
	CHECK_HAS(terminal.text, "TIME (us)    AVG\r\n");
	CHECK(columns_of_last_screen(terminal.text) <= 80);
	close_view(&view);
}

TEST_UNLESS(terminals_lack, rows_limit_the_live_table_and_the_last_one)
{
	struct view view = OPEN_VIEW(24, work_start("calls", "plain", "1009"), "syscount", "-T",
				     "1", EVERY_200_MS);

	watch_work(&view, 3);
	proc_signal(view.tool, SIGINT);
	check_given_back(view.tool, &terminal, "SYSCALL ", "getppid");
	CHECK_EQ(lines_with(strstr(terminal.text, CLOSE_SCREEN), "    "), 2); /* with its head */
	CHECK(rows_of_last_screen(terminal.text) <= 4);
	close_view(&view);
}

static bool is_stopped(const struct proc *tool)
{
	const char *stat = file_read(text_of("/proc/%d/stat", tool->pid));

	return stat && strstr(stat, ") T ");
}

/* It ends at a key, and the terminal is as it was. */
static void quit(const struct view *view)
{
	press("q");
	tool_finish(view->tool);
	CHECK(has_echo(&terminal));
	close_view(view);
}

TEST_UNLESS(terminals_lack, a_stopped_tool_gives_the_terminal_back_until_it_goes_on)
{
	struct view view = OPEN_VIEW(24, work_start("spin"), "profile", EVERY_200_MS);

	watch_work(&view, 3);
	proc_signal(view.tool, SIGTSTP);
	while (!is_stopped(view.tool) && !view.tool->has_ended)
		proc_linger(view.tool, 50);
	terminal_read(&terminal);
	CHECK(has_echo(&terminal));
	CHECK_EQ(lines_with(terminal.text, CLOSE_SCREEN), 1);
	proc_signal(view.tool, SIGCONT);
	watch(&view, 2);
	CHECK(!has_echo(&terminal));
	quit(&view);
}

/* Without waiting for the next report, which would take an hour. */
TEST_UNLESS(terminals_lack, a_new_size_is_drawn_at_once)
{
	for (size_t i = 0; i < N_VIEWS; i++) {
		struct view view = OPEN_VIEW(24, work_start_argv(views[i].work), views[i].tool,
					     "--top", "--interval", "3600");

		for (size_t n = 1; n < 5; n++) {
			wait_for_screens(view.tool, &terminal, n);
			proc_signal(view.tool, SIGWINCH);
		}
		quit(&view);
	}
}
