// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live view; see topview.h. The last drawing is retained, for when the terminal's size changes.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/topview.h"
#include "output/quantity.h"
#include "output/screen.h"
#include "run/loss.h"

#define LAST_WORDS 6 /* lines printed after the last table */

struct topview {
	bool is_over, by_total;
	char *shown;
	char *by_total_shown; /* the last by_total; NULL: none */
};

int topview_check(struct run *run)
{
	if (run->format || run->output_path)
		return msg_error("--top and --%s exclude each other",
				 run->format ? "format" : "output");
	if (!screen_is_there())
		return msg_error("--top: standard output is not a terminal");
	if (!run->interval_ns)
		run->interval_ns = NS_PER_S;
	run->view = mem_zalloc(1, sizeof(*run->view));
	return 0;
}

bool topview_is_over(const struct run *run)
{
	return run->view->is_over;
}

unsigned int topview_columns(void)
{
	return screen_columns();
}

unsigned int topview_last_rows(void)
{
	unsigned int rows = screen_rows();

	return rows > LAST_WORDS ? rows - LAST_WORDS : 1;
}

void topview_print_head(FILE *f, struct run *run, uint64_t total, const char *keys)
{
	struct writer_facts facts = run_facts(run);
	char text[QUANTITY_MAX];

	fprintf(f, "%s: %s in %.2f s", run->tool->name,
		quantity_format(text, total, run->tool->unit),
		(double)facts.duration_ns / NS_PER_S);
	if (facts.lost)
		fprintf(f, ", lost: %s", quantity_format(text, facts.lost, run->tool->unit));
	fprintf(f, "  (%sq quits)\n", keys);
}

static void draw(const struct topview *view)
{
	screen_draw(view->by_total && view->by_total_shown ? view->by_total_shown : view->shown);
}

void topview_show(const struct run *run, char *text, char *by_total)
{
	free(run->view->shown);
	free(run->view->by_total_shown);
	run->view->shown = text;
	run->view->by_total_shown = by_total;
	draw(run->view);
}

bool topview_is_by_total(const struct run *run)
{
	return run->view->by_total;
}

static enum loop_verdict on_key(int fd, void *arg)
{
	struct topview *view = arg;
	char key;

	if (read(fd, &key, 1) != 1 || key == 'q' || key == 'Q')
		return LOOP_STOP;
	if (key == 's' || key == 't') {
		view->by_total = key == 't';
		draw(view);
	}
	return LOOP_GO;
}

/* Restores the terminal and stops the process; redraws when the shell continues it. */
static void pause_view(const struct topview *view)
{
	screen_close();
	kill(getpid(), SIGSTOP);
	screen_take_keys();
	draw(view);
}

static enum loop_verdict on_signal(int fd, void *arg)
{
	const struct topview *view = arg;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return LOOP_GO;
	if (info.ssi_signo == SIGTSTP)
		pause_view(view);
	else
		draw(view);
	return LOOP_GO;
}

/* Watches SIGWINCH (the terminal's size changed) and SIGTSTP (^Z). */
static int watch_signals(const struct run *run)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : loop_watch(run->loop, fd, on_signal, run->view);
}

int topview_start(struct run *run)
{
	int err;

	if (!run->view)
		return 0;
	err = watch_signals(run);
	if (!err && screen_take_keys())
		err = loop_watch(run->loop, STDIN_FILENO, on_key, run->view);
	if (err)
		return msg_errno(err, "terminal: watch failed");
	topview_show(run,
		     mem_printf("%s: a table every %g s  (q quits)\n", run->tool->name,
				(double)run->interval_ns / NS_PER_S),
		     NULL);
	return 0;
}

void topview_stop(struct run *run)
{
	if (!run->view)
		return;
	run->view->is_over = true;
	screen_close();
}

void topview_finish(struct run *run)
{
	if (run->view) {
		free(run->view->shown);
		free(run->view->by_total_shown);
	}
	free(run->view);
	run->view = NULL;
}

const struct module topview_module = {
	.start = topview_start,
	.stop = topview_stop,
	.finish = topview_finish,
};
