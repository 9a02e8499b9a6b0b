// SPDX-License-Identifier: GPL-2.0-only
/* Windows of waits; see waits.h. */
#include <errno.h>

#include <bpf/bpf.h>

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

int waits_set_settings(const struct run *run, const struct wait_settings *wanted)
{
	struct wait_settings settings = *wanted;

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

static int set_window(const struct run *run, const struct wait_window *window)
{
	struct bpf_map *map = map_find(run, ".data.window");
	uint32_t zero = 0;

	if (bpf_map_update_elem(bpf_map__fd(map), &zero, window, BPF_ANY))
		return msg_errno(-errno, "wait window: map update failed");
	return 0;
}

static void define_stack(const void *thread, void *arg)
{
	stacks_define_thread(arg, thread);
}

int waits_start(struct run *run)
{
	struct wait_window window = { .start_ns = run->start_ns };
	int err = set_window(run, &window);

	return err ? err : taskstate_visit(run, sizeof(struct unwind_thread), define_stack, run);
}

int waits_end_window(struct run *run)
{
	struct wait_window window = { .start_ns = run->start_ns,
				      .end_ns = run->end_ns,
				      .is_peek = run->is_peek,
				      .is_last = run->is_last };
	int err = set_window(run, &window);

	return err ? err : taskstate_visit(run, 0, NULL, NULL);
}
