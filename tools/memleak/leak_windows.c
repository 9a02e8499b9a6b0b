// SPDX-License-Identifier: GPL-2.0-only
/* When functions that allocate are probed; see leak_windows.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "memleak/leak_options.h"
#include "memleak/leak_windows.h"
#include "run/bpfmap.h"

#define WINDOW_NS (50 * NS_PER_MS) /* attaching takes 1 % of it */

/* Points of one process, or of all. */
struct window_part {
	pid_t pid;
	struct uprobe_point *points;
	size_t n;
	struct uprobes *links; /* NULL: not attached */
};

struct leak_windows {
	const struct run *run;
	struct uprobes_programs programs;
	uint64_t gap_ns;  /* between two, on average */
	int timer_fd;	  /* -1: not begun, or ended */
	uint32_t *number; /* BPF's, of the open window; 0: none is open */
	uint32_t n_opened;
	uint64_t opened_ns, open_ns; /* the window, and how long all of them were */
	struct window_part **parts;
	size_t n_parts, parts_cap;
	bool has_failed; /* to attach some */
};

struct leak_windows *leak_windows_new(const struct run *run, uint32_t percent)
{
	struct leak_windows *windows = mem_zalloc(1, sizeof(*windows));

	windows->run = run;
	windows->gap_ns = WINDOW_NS * (100 - percent) / percent;
	windows->timer_fd = -1;
	return windows;
}

int leak_windows_prepare(struct leak_windows *windows, const struct uprobes_programs *programs)
{
	windows->programs = *programs;
	if (programs->mode != UPROBES_PERF)
		return 0;
	return msg_error(
		"--duty-cycle: no uprobe.multi links (needs Linux 6.10 and a live main thread)");
}

/* ---- parts ---- */

static bool is_open(const struct leak_windows *windows)
{
	return windows->number && *windows->number;
}

static void free_part(struct window_part *part)
{
	uprobes_detach(part->links);
	for (size_t i = 0; i < part->n; i++)
		if (!i || part->points[i].fd != part->points[i - 1].fd)
			close(part->points[i].fd);
	free(part->points);
	free(part);
}

/* Copies points, with descriptors of its own, of which those of one file share one. 0 or -errno. */
static int copy_points(struct window_part *part, const struct uprobe_point *points, size_t n)
{
	int fd = -1;

	part->points = mem_zalloc(n, sizeof(*points));
	for (; part->n < n; part->n++) {
		if (!part->n || points[part->n].fd != points[part->n - 1].fd)
			fd = fcntl(points[part->n].fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		part->points[part->n] = points[part->n];
		part->points[part->n].fd = fd;
	}
	return 0;
}

static struct window_part *make_part(const struct leak_windows *windows, pid_t pid,
				     struct uprobe_point *points, size_t n)
{
	struct window_part *part = mem_zalloc(1, sizeof(*part));
	int err;

	part->pid = pid;
	part->links = uprobes_attach(&windows->programs, pid, points, n);
	err = part->links ? copy_points(part, points, n) : -errno;
	if (!err)
		return part;
	free_part(part);
	errno = -err;
	return NULL;
}

/* Attaches once even if no window is open, so that failures are reported at once. */
struct window_part *leak_windows_add(struct leak_windows *windows, pid_t pid,
				     struct uprobe_point *points, size_t n)
{
	struct window_part *part = make_part(windows, pid, points, n);

	if (!part)
		return NULL;
	if (!is_open(windows)) {
		uprobes_detach(part->links);
		part->links = NULL;
	}
	windows->parts = mem_grow(windows->parts, windows->n_parts, &windows->parts_cap,
				  sizeof(struct window_part *));
	windows->parts[windows->n_parts++] = part;
	return part;
}

void leak_windows_drop(struct leak_windows *windows, struct window_part *part)
{
	size_t i = 0;

	if (!part)
		return;
	while (windows->parts[i] != part)
		i++;
	windows->parts[i] = windows->parts[--windows->n_parts];
	free_part(part);
}

/* ---- windows ---- */

/* Parts of an exited process can't be attached any more; other failures are reported, once. */
static void attach_parts(struct leak_windows *windows)
{
	for (size_t i = 0; i < windows->n_parts; i++) {
		struct window_part *part = windows->parts[i];

		part->links = uprobes_attach(&windows->programs, part->pid, part->points, part->n);
		if (part->links || errno == ESRCH)
			continue;
		if (!windows->has_failed)
			msg_errno(-errno, "uprobes: attach in a --duty-cycle window failed");
		windows->has_failed = true;
	}
}

static void detach_parts(struct leak_windows *windows)
{
	for (size_t i = 0; i < windows->n_parts; i++) {
		uprobes_detach(windows->parts[i]->links);
		windows->parts[i]->links = NULL;
	}
}

/* Calls count from here on, all of them: the probes are there. */
static void open_window(struct leak_windows *windows)
{
	attach_parts(windows);
	windows->opened_ns = clock_now_ns();
	*(volatile uint32_t *)windows->number = ++windows->n_opened;
}

static void close_window(struct leak_windows *windows)
{
	*(volatile uint32_t *)windows->number = 0;
	windows->open_ns += clock_now_ns() - windows->opened_ns;
	detach_parts(windows);
}

/* From half of its usual length to three halves. */
static uint64_t random_gap(const struct leak_windows *windows)
{
	uint32_t random = UINT32_MAX / 2;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return windows->gap_ns / 2 + (uint64_t)((double)windows->gap_ns * random / UINT32_MAX);
}

/* At a moment of the clock, or now if that has passed: detaching takes a while. */
static int set_timer(const struct leak_windows *windows, uint64_t at_ns)
{
	struct itimerspec spec = { .it_value = clock_timer_time(at_ns) };

	return timerfd_settime(windows->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) ? -errno : 0;
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	struct leak_windows *windows = arg;
	uint64_t expirations, now_ns = clock_now_ns();

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	if (is_open(windows)) {
		close_window(windows);
		set_timer(windows, now_ns + random_gap(windows));
	} else {
		open_window(windows);
		set_timer(windows, windows->opened_ns + WINDOW_NS);
	}
	return LOOP_GO;
}

int leak_windows_begin(struct leak_windows *windows)
{
	int err;

	windows->number = map_memory(windows->run, ".data.window");
	if (!windows->number)
		return -EIO;
	windows->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (windows->timer_fd < 0)
		return msg_errno(-errno, "timer: setup failed");
	err = loop_watch(windows->run->loop, windows->timer_fd, on_timer, windows);
	if (!err)
		err = loop_make_urgent(windows->run->loop, windows->timer_fd);
	if (!err)
		err = set_timer(windows, clock_now_ns() + random_gap(windows));
	return err ? msg_errno(err, "timer: watch failed") : 0;
}

void leak_windows_end(struct leak_windows *windows)
{
	if (windows->timer_fd >= 0)
		close(windows->timer_fd);
	windows->timer_fd = -1;
	if (is_open(windows))
		close_window(windows);
}

/* ---- the end ---- */

/*
 * How much there is in all can't be said: a program makes fewer calls in a window than in the same
 * time outside of it, as the probes slow it down.
 */
void leak_windows_print(const struct leak_windows *windows)
{
	const struct leak_options *options = windows->run->options;
	double duration_ns = (double)(windows->run->end_ns - windows->run->start_ns);
	char sample[32] = "";

	if (!windows->n_opened) {
		msg_warn("--duty-cycle: no window has begun, no allocation was traced");
		return;
	}
	if (options->sample > 1)
		snprintf(sample, sizeof(sample), ", one address in %u", options->sample);
	msg_info("allocations traced for %.1f %% of the time, in %u window%s%s (only their blocks "
		 "are shown)",
		 100 * (double)windows->open_ns / duration_ns, windows->n_opened,
		 windows->n_opened == 1 ? "" : "s", sample);
}

void leak_windows_free(struct leak_windows *windows)
{
	if (!windows)
		return;
	leak_windows_end(windows);
	free(windows->parts);
	free(windows);
}
