// SPDX-License-Identifier: GPL-2.0-only
/* BPF programs and settings of a run; see programs.h. */
#include <errno.h>

#include "abi/biolat.h"
#include "base/array.h"
#include "base/msg.h"
#include "biolat/groups.h"
#include "biolat/programs.h"
#include "modules/target.h"
#include "run/bpf_object.h"
#include "run/bpfmap.h"
#include "run/features.h"

/*
 * Leaves out the programs that a run doesn't need: those for requests or (is_top) for bios, for
 * owners, for stacks. has_start: the kernel has block_io_start, since 6.5.
 */
static void leave_out(struct run *run, const struct biolat_settings *settings, bool is_top,
		      bool has_start)
{
	bool of_disk = !is_top, owners = of_disk && settings->has_owners;
	bool stacks = settings->by == BY_STACK;
	const struct {
		const char *name;
		bool is_wanted;
	} programs[] = {
		{ "biolat_complete", of_disk },
		{ "biolat_requeue", of_disk },
		{ "biolat_merge", owners },
		{ "biolat_issue", of_disk && (has_start || !stacks) },
		{ "stack_issue", of_disk && !has_start && stacks },
		{ "biolat_start", owners && has_start && !stacks },
		{ "stack_start", owners && has_start && stacks },
		{ "biolat_insert", owners && !has_start && !stacks },
		{ "stack_insert", owners && !has_start && stacks },
		{ "biolat_bio_start", is_top && !stacks },
		{ "stack_bio_start", is_top && stacks },
		{ "biolat_bio_split", is_top },
		{ "biolat_bio_complete", is_top },
		{ "biolat_bios_complete", is_top },
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (!programs[i].is_wanted)
			program_leave_out(run, programs[i].name);
}

static int choose_programs(struct run *run, const struct biolat_settings *settings, bool is_top)
{
	const struct btf *types = NULL;

	if (is_top || settings->has_owners) {
		types = object_types(run);
		if (!types)
			return -EINVAL;
	}
	if (is_top && !features_member(types, "bio", "bi_bdev"))
		return msg_error("--layer top: not supported by this kernel (since Linux 5.12)");
	leave_out(run, settings, is_top, types && features_tracepoint(types, "block_io_start"));
	return 0;
}

/* Returns the size of the table of requests: a power of two. */
static uint32_t count_requests(const struct run *run)
{
	uint32_t n = BIOLAT_TRIES;

	while (n < (run_given(run, "entries") ? histograms_entries(run) : BIOLAT_REQUESTS))
		n *= 2;
	return n;
}

int programs_configure(struct run *run)
{
	const struct groups *groups = run->options;
	struct biolat_settings settings = {
		.kernel_names = { "[writeback]", "[flush]" },
		.by = groups_by(run),
		.parts = groups_parts(groups),
		.of_bytes = groups->bytes,
		.slower_ns = groups->slower_ns,
		.device = groups->device.number,
	};

	settings.has_owners =
		groups_want_lines(run) || settings.by > BY_PARTS || !target_is_everything(run);
	settings.last_request = count_requests(run) - 1;
	bpf_map__set_max_entries(map_find(run, "requests"), settings.last_request + 1);
	return map_set_settings(run, ".rodata.biolat", &settings, sizeof(settings)) ||
			       choose_programs(run, &settings, groups->top)
		       ? -EINVAL
		       : 0;
}
