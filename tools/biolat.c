// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is it the disk? Measures block requests from their issue to the driver until their completion, if
 * requested also their time in the queue, as histograms; counts requests that fail or are in
 * flight.
 */
#include <errno.h>

#include "abi/biolat.h"
#include "base/clock.h"
#include "biolat/groups.h"
#include "biolat/leftovers.h"
#include "biolat/programs.h"
#include "biolat/slow.h"
#include "modules/histograms.h"
#include "modules/numbers.h"
#include "modules/target.h"
#include "run/bpfmap.h"
#include "run/tool.h"

#include "biolat.skel.h"

static const struct groups defaults;

static const struct opt opts[] = {
	{ 'Q', "queue", NULL, OPT_FLAG(struct groups, time),
	  "print histograms of time in queue, in device, and in total" },
	{ 'D', "per-disk", NULL, OPT_FLAG(struct groups, disk), "split by disk" },
	{ 'F', "per-operation", NULL, OPT_FLAG(struct groups, operation),
	  "split by operation (read, write, flush, ...)" },
	{ 'd', "disk", "DISK", OPT_PARSED(struct groups, device, disks_parse),
	  "trace only this disk or partition" },
	{ 0, "layer", "disk|top", OPT_PARSED(struct groups, top, groups_parse_layer),
	  "count requests at disks (default), or bios at the top" },
	{ 0, "bytes", NULL, OPT_FLAG(struct groups, bytes), "print sizes and throughput, not times",
	  "queue" },
	{ 'P', "pids", NULL, OPT_FLAG(struct groups, process), "split by submitting process" },
	{ 0, "per-cgroup", NULL, OPT_FLAG(struct groups, cgroup), "split by cgroup (v2)" },
	{ 0, "per-container", NULL, OPT_FLAG(struct groups, container),
	  "split by container (from cgroup paths)" },
	{ 0, "slower", "MS", OPT_DURATION(struct groups, slower_ns, NS_PER_MS),
	  "print requests of at least MS, one per line", "bytes" },
	{},
};

static const struct hist_grouping *grouping(const struct run *run)
{
	return groups_find(run->options);
}

static bool wants_lines(const struct run *run)
{
	return ((const struct groups *)run->options)->slower_ns > 0;
}

static const struct hist_unit *unit(const struct run *run)
{
	return ((const struct groups *)run->options)->bytes ? &hist_bytes : NULL;
}

static const struct histograms_spec histograms = {
	.metric = { "tracelets_biolat_request_seconds",
		    "Time of block requests, from their issue to their completion." },
	.grouping = grouping,
	.unit = unit,
	.in_interrupts = true,
};

/* Returns the size of the table of requests: a power of two. */
static uint32_t count_requests(const struct run *run)
{
	uint32_t n = BIOLAT_TRIES;

	while (n < (run_given(run, "entries") ? histograms_entries(run) : BIOLAT_REQUESTS))
		n *= 2;
	return n;
}

static int configure(struct run *run)
{
	const struct groups *groups = run->options;
	struct biolat_settings settings = {
		.writeback = "[writeback]",
		.by = groups_by(groups),
		.parts = groups_parts(groups),
		.of_bytes = groups->bytes,
		.has_bytes = groups->bytes || groups->slower_ns,
		.slower_ns = groups->slower_ns,
		.device = groups->device.number,
	};

	settings.has_owners = wants_lines(run) || settings.by == BY_PROCESS ||
			      settings.by == BY_CGROUP || !target_is_everything(run);
	settings.last_request = count_requests(run) - 1;
	bpf_map__set_max_entries(map_find(run, "requests"), settings.last_request + 1);
	return map_set_settings(run, ".rodata.biolat", &settings, sizeof(settings)) ||
			       programs_choose(run, groups->top, settings.has_owners)
		       ? -EINVAL
		       : 0;
}

static int report(struct run *run)
{
	int err;

	if (wants_lines(run))
		return events_report(run);
	err = leftovers_read(run);
	if (!err && run->is_metrics)
		leftovers_report(run);
	if (!err)
		err = histograms_report(run);
	if (!err && !run->is_metrics)
		leftovers_report(run);
	return err;
}

DEFINE_SKELETON(biolat);

static const struct tool biolat = {
	.name = "biolat",
	.summary = "Shows how long disks take for requests, as a histogram.",
	.examples = "  biolat 5             # a histogram every 5 seconds\n"
		    "  biolat -Q 10 1       # is it the disk, or the queue before it?\n"
		    "  biolat -DF 10 1      # a histogram per disk and operation\n"
		    "  biolat -P 10 1       # whose requests?\n"
		    "  biolat --slower 100  # single requests of 100 ms or more\n",
	.usual = "pid queue per-disk per-operation disk pids per-container milliseconds format "
		 "output",
	.unit = "requests",
	.operands = OPERANDS_INTERVAL,
	.letters = { { 'c', "cgroup" } },
	.opts = opts,
	.options = DEFAULTS(defaults),
	.modules = { { &target_module },
		     { &histograms_module, &histograms },
		     { &leftovers_module },
		     { &slow_module, NULL, wants_lines },
		     { &events_module, &slow_events, wants_lines },
		     { &numbers_module } },
	.skeleton = &skeleton,
	.check = groups_check,
	.configure = configure,
	.report = report,
};

int main(int argc, char **argv)
{
	return tool_main(&biolat, argc, argv);
}
