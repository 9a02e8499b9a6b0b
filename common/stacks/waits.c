// SPDX-License-Identifier: GPL-2.0-only
/* Windows of waits; see waits.h. */
#include <errno.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/msg.h"
#include "modules/histograms.h"
#include "modules/taskstate.h"
#include "output/remarks.h"
#include "run/bpfmap.h"
#include "run/features.h"
#include "stacks/stacks.h"
#include "stacks/waits.h"

#include "waits.skel.h"

static void *open_object(const struct bpf_object_open_opts *how)
{
	return waits_bpf__open_opts(how);
}

static void close_object(void *skeleton)
{
	waits_bpf__destroy(skeleton);
}

const struct skeleton waits_skeleton = { open_object, close_object };

const char *const wait_walkers[] = { "waits_switch", "waits_waking", NULL };

const char *const wait_remarks[WAIT_REMARKS] = {
	[WAIT_AT_START] = REMARK_BLOCKED_AT_START,
	[WAIT_AT_END] = REMARK_BLOCKED_AT_END,
	[WAIT_AT_START | WAIT_AT_END] = REMARK_BLOCKED_THROUGHOUT,
	[WAIT_THROTTLED] = REMARK_THROTTLED,
};

struct wait_options {
	bool user_threads, kernel_threads, without_throughout;
	uint64_t min_ns, max_ns;
};

static const struct wait_options defaults = { .max_ns = UINT64_MAX };

static const struct opt wait_opts[] = {
	{ 'm', "min-block-time", "USEC", OPT_DURATION(struct wait_options, min_ns, NS_PER_US),
	  "count only waits of at least USEC" },
	{ 'M', "max-block-time", "USEC", OPT_DURATION(struct wait_options, max_ns, NS_PER_US),
	  "count only waits of at most USEC" },
	{ 'x', "without-throughout", NULL, OPT_FLAG(struct wait_options, without_throughout),
	  "skip threads blocked for the whole run" },
	{ 'u', "user-threads-only", NULL, OPT_FLAG(struct wait_options, user_threads),
	  "skip kernel threads", "kernel-threads-only" },
	{ 'k', "kernel-threads-only", NULL, OPT_FLAG(struct wait_options, kernel_threads),
	  "skip user threads" },
	{},
};

static int check_waits(struct run *run)
{
	const struct wait_options *options = run_state(run, &waits_module);

	if (options->min_ns > options->max_ns)
		return msg_error("--min-block-time is longer than --max-block-time");
	return 0;
}

const struct module waits_module = {
	.title = "waits",
	.opts = wait_opts,
	.state = DEFAULTS(defaults),
	.check = check_waits,
};

int waits_set_settings(const struct run *run, const struct wait_settings *wanted)
{
	const struct wait_options *options = run_state(run, &waits_module);
	struct wait_settings settings = *wanted;

	settings.min_ns = options ? options->min_ns : 0;
	settings.max_ns = options ? options->max_ns : UINT64_MAX;
	settings.has_windows = run->interval_ns || run->is_metrics; /* SIGUSR1 requests them */
	return map_set_settings(run, ".rodata.waits", &settings, sizeof(settings));
}

int waits_configure(const struct run *run, const struct wait_settings *wanted)
{
	if (!wanted->waker)
		program_leave_out(run, "waits_waking");
	if (!wanted->on_cpu) {
		program_leave_out(run, WAITS_SAMPLER);
		map_leave_out(run, "sampled");
		program_leave_out(run, "waits_rename");
	}
	if (histograms_configure_all(run, wanted->delays))
		return -EINVAL;
	if (!wanted->throttled)
		program_leave_out(run, "waits_migrate");
	else if (features_require_quotas())
		return -ENOTSUP;
	return waits_set_settings(run, wanted);
}

/* Sets the window of the next visit, which is one at a start unless window has an end. */
static int set_window(const struct run *run, struct wait_window window)
{
	int fd = bpf_map__fd(map_find(run, ".data.window"));
	struct wait_window last;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, &last))
		return msg_errno(-errno, "wait window: map lookup failed");
	window.n_begun = last.n_begun + !window.end_ns;
	if (window.end_ns)
		window.start_ns = last.start_ns;
	else
		window.seen_ns = last.start_ns;
	if (bpf_map_update_elem(fd, &zero, &window, BPF_ANY))
		return msg_errno(-errno, "wait window: map update failed");
	return 0;
}

static void define_stack(const void *thread, void *arg)
{
	stacks_define_thread(arg, thread);
}

static int begin_waits(struct run *run, uint64_t start_ns)
{
	int err = set_window(run, (struct wait_window){ .start_ns = start_ns });

	return err ? err : taskstate_visit(run, sizeof(struct unwind_thread), define_stack, run);
}

int waits_start(struct run *run)
{
	return begin_waits(run, run->start_ns);
}

int waits_start_more(struct run *run)
{
	return begin_waits(run, clock_now_ns());
}

int waits_end_window(struct run *run)
{
	struct wait_window window = { .end_ns = run->end_ns,
				      .is_peek = run->is_peek,
				      .is_last = run->is_last };
	int err = set_window(run, window);

	return err ? err : taskstate_visit(run, 0, NULL, NULL);
}
