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
#include "memleak/leak_rate.h"
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

/* Sums over windows of their calls x and times t, in seconds. */
struct window_sums {
	uint32_t n;
	double x, t, xx, xt, tt;
};

struct leak_windows {
	const struct run *run;
	struct uprobes_programs programs;
	uint64_t gap_ns;  /* between two, on average */
	int timer_fd;	  /* -1: not begun, or ended */
	uint32_t *number; /* BPF's, of the open window; 0: none is open */
	uint32_t n_opened;
	uint64_t opened_ns, calls_before;
	struct window_sums sums;
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
	return msg_error("--duty-cycle: the kernel can't attach many probes at once (since Linux "
			 "6.10)");
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

/* Also where no window is open: what can't be attached is told at once. */
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

static uint64_t calls_now(const struct leak_windows *windows)
{
	return leak_rate_counts(windows->run).allocs;
}

/* Those of a process that has ended can't be attached any more; of others that is told, once. */
static void attach_parts(struct leak_windows *windows)
{
	for (size_t i = 0; i < windows->n_parts; i++) {
		struct window_part *part = windows->parts[i];

		part->links = uprobes_attach(&windows->programs, part->pid, part->points, part->n);
		if (part->links || errno == ESRCH)
			continue;
		if (!windows->has_failed)
			msg_errno(-errno, "probing in a window");
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
	windows->calls_before = calls_now(windows);
	windows->opened_ns = clock_now_ns();
	*(volatile uint32_t *)windows->number = ++windows->n_opened;
}

static void close_window(struct leak_windows *windows)
{
	struct window_sums *sums = &windows->sums;
	double x, t;

	*(volatile uint32_t *)windows->number = 0;
	t = (double)(clock_now_ns() - windows->opened_ns) / (double)NS_PER_S;
	x = (double)(calls_now(windows) - windows->calls_before);
	sums->n++;
	sums->x += x;
	sums->t += t;
	sums->xx += x * x;
	sums->xt += x * t;
	sums->tt += t * t;
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
	struct itimerspec spec = {
		.it_value = { (time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S) },
	};

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
		return msg_errno(-errno, "making a timer");
	err = loop_watch(windows->run->loop, windows->timer_fd, on_timer, windows);
	if (!err)
		err = loop_make_urgent(windows->run->loop, windows->timer_fd);
	if (!err)
		err = set_timer(windows, clock_now_ns() + random_gap(windows));
	return err ? msg_errno(err, "watching a timer") : 0;
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
 * Two standard errors of the ratio of calls to time, of those windows in all of the run (Cochran,
 * Sampling Techniques, 3rd edition, 6.4), in per cent of it: the least whole number, up to 1000.
 */
static unsigned int error_percent(const struct window_sums *s, double share)
{
	double ratio = s->x / s->t;
	double residuals = s->xx - 2 * ratio * s->xt + ratio * ratio * s->tt;
	double relative = residuals * s->n / (s->n - 1) / (s->x * s->x) * (1 - share);
	unsigned int percent = 0;

	while (percent < 1000 && percent * percent < 4e4 * relative)
		percent++;
	return percent;
}

/*
 * By how much to multiply: addresses are sampled, too. How well that is known is said of the
 * windows only: how well one address in N stands for all depends on the stack.
 */
void leak_windows_print(const struct leak_windows *windows)
{
	const struct leak_options *options = windows->run->options;
	const struct window_sums *s = &windows->sums;
	double share =
		s->t * (double)NS_PER_S / (double)(windows->run->end_ns - windows->run->start_ns);
	double factor = options->sample / share;
	char error[48] = "", sample[32] = "";

	if (!s->n) {
		msg_warn("no window of --duty-cycle has begun: no allocation was traced");
		return;
	}
	if (options->sample > 1)
		snprintf(sample, sizeof(sample), ", of one address in %u", options->sample);
	if (s->n > 1 && s->x > 0)
		snprintf(error, sizeof(error), " (give or take %u %%%s)", error_percent(s, share),
			 *sample ? " by the windows" : "");
	msg_info("allocations were traced for %.1f %% of the time, in %u window%s%s: multiply "
		 "what is shown by %.*f%s",
		 100 * share, s->n, s->n == 1 ? "" : "s", sample,
		 factor < 10	? 2
		 : factor < 100 ? 1
				: 0,
		 factor, error);
}

void leak_windows_free(struct leak_windows *windows)
{
	if (!windows)
		return;
	leak_windows_end(windows);
	free(windows->parts);
	free(windows);
}
