// SPDX-License-Identifier: GPL-2.0-only
/*
 * The live view; see topview.h. What was drawn last is kept, for when the terminal's size changes.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "run/run_facts.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "output/quantity.h"
#include "output/screen.h"
#include "modules/topview.h"

#define LAST_WORDS 6 /* lines of them */

static bool is_on, is_over;
static char *shown;

int topview_check(struct run *run)
{
	if (run->format || run->output_path)
		return msg_error("--top and --%s exclude each other",
				 run->format ? "format" : "output");
	if (!screen_is_there())
		return msg_error("--top: standard output is no terminal");
	if (!run->interval_ns)
		run->interval_ns = NS_PER_S;
	is_on = true;
	return 0;
}

bool topview_is_on(void)
{
	return is_on;
}

bool topview_is_over(void)
{
	return is_over;
}

unsigned int topview_last_rows(void)
{
	unsigned int rows = screen_rows();

	return rows > LAST_WORDS ? rows - LAST_WORDS : 1;
}

void topview_print_head(FILE *f, const struct run *run, uint64_t total)
{
	struct writer_facts facts = facts_of(run);
	char text[QUANTITY_MAX];

	fprintf(f, "%s: %s in %.2f s", run->tool->name,
		quantity_format(text, total, run->tool->unit),
		(double)facts.duration_ns / NS_PER_S);
	if (facts.lost)
		fprintf(f, ", lost: %s", quantity_format(text, facts.lost, run->tool->unit));
	fputs("  (q quits)\n", f);
}

void topview_show(char *text)
{
	free(shown);
	shown = text;
	screen_draw(shown);
}

static enum loop_verdict on_key(int fd, void *arg)
{
	char key;

	(void)arg;
	return read(fd, &key, 1) == 1 && key != 'q' && key != 'Q' ? LOOP_GO : LOOP_STOP;
}

static enum loop_verdict on_new_size(int fd, void *arg)
{
	struct signalfd_siginfo info;

	(void)arg;
	if (read(fd, &info, sizeof(info)) == sizeof(info))
		screen_draw(shown);
	return LOOP_GO;
}

static int watch_size(struct loop *loop)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? -errno : loop_watch(loop, fd, on_new_size, NULL);
}

int topview_start(struct run *run)
{
	int err;

	if (!is_on)
		return 0;
	err = watch_size(run->loop);
	if (!err && screen_take_keys())
		err = loop_watch(run->loop, STDIN_FILENO, on_key, NULL);
	if (err)
		return msg_errno(err, "watching the terminal");
	topview_show(mem_printf("%s: a table every %g s  (q quits)\n", run->tool->name,
				(double)run->interval_ns / NS_PER_S));
	return 0;
}

void topview_stop(struct run *run)
{
	(void)run;
	is_over = true;
	screen_close();
	free(shown);
	shown = NULL;
}

const struct module topview_module = { .start = topview_start, .stop = topview_stop };
