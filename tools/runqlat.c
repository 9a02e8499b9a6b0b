// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long do runnable threads wait for a CPU? Measures from the wake-up or preemption of a thread
 * to the moment when it runs, as a histogram, or line by line for the late ones.
 */
#include <errno.h>
#include <limits.h>
#include <time.h>

#include "../bpf/runqlat.h"
#include "bpfmap.h"
#include "cgroups.h"
#include "escape.h"
#include "hists.h"
#include "loop.h"
#include "mem.h"
#include "msg.h"
#include "parse.h"
#include "target.h"
#include "taskstate.h"
#include "tool.h"

#include "runqlat.skel.h"

static bool by_process, by_thread, by_pidns, by_cpu, by_cgroup;
static uint64_t slower_ns;
static struct ring_buffer *ring;

static const struct opt opts[] = {
	{ 'P', "pids", NULL, OPT_FLAG(&by_process), "a histogram for each process" },
	{ 'L', "tids", NULL, OPT_FLAG(&by_thread), "a histogram for each thread" },
	{ 0, "pidnss", NULL, OPT_FLAG(&by_pidns), "a histogram for each pid namespace" },
	{ 0, "per-cpu", NULL, OPT_FLAG(&by_cpu), "a histogram for each CPU" },
	{ 0, "per-cgroup", NULL, OPT_FLAG(&by_cgroup), "a histogram for each cgroup (v2)" },
	{ 0, "slower", "USEC", OPT_DURATION(&slower_ns, NS_PER_US),
	  "no histogram: a line for each wait of at least USEC, and who ran instead" },
	{},
};

/* What a histogram is of: its key's name, and whether a comm or a path stands behind the number. */
struct grouping {
	const bool *wanted;
	const char *key;
	bool with_comm, with_path;
	uint32_t by;
};

static const struct grouping groupings[] = {
	{ &by_process, "pid", true, false, BY_PROCESS },
	{ &by_thread, "tid", true, false, BY_THREAD },
	{ &by_pidns, "pidns", false, false, BY_PIDNS },
	{ &by_cpu, "cpu", false, false, BY_CPU },
	{ &by_cgroup, "cgroup", false, true, BY_CGROUP },
};

static const struct grouping *grouping;

static void print_title(FILE *f, uint64_t id, const char *comm)
{
	char path[PATH_MAX];

	fprintf(f, "%s = %llu ", grouping->key, (unsigned long long)id);
	if (grouping->with_comm)
		escape_print(f, comm, "");
	if (grouping->with_path && !cgroup_path_of(id, path, sizeof(path)))
		escape_print(f, path, "");
	fputc('\n', f);
}

static int check(struct run *run)
{
	(void)run;
	for (size_t i = 0; i < ARRAY_SIZE(groupings); i++) {
		if (!*groupings[i].wanted)
			continue;
		if (grouping || slower_ns)
			return msg_error("-P, -L, --pidnss, --per-cpu, --per-cgroup and --slower "
					 "exclude each other");
		grouping = &groupings[i];
	}
	if (opts_given("slower") && !slower_ns)
		return msg_error("--slower must be more than 0");
	hists_set_title(grouping ? print_title : NULL);
	return 0;
}

static int configure(struct run *run)
{
	struct runqlat_bpf *skel = run->skeleton;

	skel->rodata->slower_ns = slower_ns;
	if (!slower_ns)
		map_leave_out(run, "slow_waits");
	skel->rodata->hist_by = grouping ? grouping->by : BY_NOTHING;
	return taskstate_configure(run);
}

/* ---- --slower ---- */

static int print_slow(void *ctx, void *data, size_t size)
{
	const struct runqlat_slow *slow = data;
	struct run *run = ctx;
	time_t now = time(NULL);
	char text[16], comm[4 * TASK_COMM_LEN], prev[4 * TASK_COMM_LEN];

	if (size < sizeof(*slow))
		return 0;
	strftime(text, sizeof(text), "%H:%M:%S", localtime(&now));
	fprintf(run->out, "%-8s %3u %-16s %7u %12llu %-16s %7u\n", text, slow->cpu,
		escape_string(comm, sizeof(comm), slow->comm, ""), slow->tid,
		(unsigned long long)(slow->delay_ns / NS_PER_US),
		escape_string(prev, sizeof(prev), slow->prev_comm, ""), slow->prev_tid);
	run->recorded++;
	return 0;
}

static enum loop_verdict on_ring(int fd, void *arg)
{
	struct run *run = arg;

	(void)fd;
	ring_buffer__consume(ring);
	return fflush(run->out) ? LOOP_STOP : LOOP_GO;
}

static int start_slower(struct run *run)
{
	struct runqlat_bpf *skel = run->skeleton;

	ring = ring_buffer__new(bpf_map__fd(skel->maps.slow_waits), print_slow, run, NULL);
	if (!ring)
		return msg_errno(errno, "opening the ring buffer");
	fprintf(run->out, "%-8s %3s %-16s %7s %12s %-16s %7s\n", "TIME", "CPU", "COMM", "TID",
		"LAT(us)", "PREV COMM", "PREV");
	return loop_watch(run->loop, ring_buffer__epoll_fd(ring), on_ring, run);
}

static int start(struct run *run)
{
	int err = taskstate_visit(run, 0, NULL, NULL);

	return err || !slower_ns ? err : start_slower(run);
}

static int report(struct run *run)
{
	if (!slower_ns)
		return hists_report(run);
	ring_buffer__consume(ring);
	if (run->is_last)
		ring_buffer__free(ring);
	return 0;
}

DEFINE_SKELETON(runqlat);

static const struct tool runqlat = {
	.name = "runqlat",
	.summary = "Shows how long runnable threads wait for a CPU, as a histogram.",
	.examples = "  runqlat 5                # a histogram every 5 seconds\n"
		    "  runqlat -mT 1 10         # 10 of 1 second, in ms, with the time of day\n"
		    "  runqlat -P 1             # one for each process\n"
		    "  runqlat --slower 10ms    # each wait over 10 ms, and who ran instead\n",
	.unit = "waits",
	.operands = OPERANDS_INTERVAL,
	.opts = opts,
	.modules = { &target_module, &hists_module },
	.skeleton = &skeleton,
	.check = check,
	.configure = configure,
	.start = start,
	.report = report,
};

int main(int argc, char **argv)
{
	return tool_main(&runqlat, argc, argv);
}
