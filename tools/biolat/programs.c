// SPDX-License-Identifier: GPL-2.0-only
/* The BPF programs of a run; see programs.h. */
#include <errno.h>

#include "base/msg.h"
#include "biolat/programs.h"
#include "run/bpf_object.h"
#include "run/bpfmap.h"
#include "run/features.h"

static void leave_out(struct run *run, const char *const programs[])
{
	for (; *programs; programs++)
		program_leave_out(run, *programs);
}

int programs_choose(struct run *run, bool is_top, bool has_owners)
{
	static const char *const of_requests[] = { "biolat_start",
						   "biolat_insert",
						   "biolat_issue",
						   "biolat_requeue",
						   "biolat_merge",
						   "biolat_complete",
						   NULL };
	static const char *const of_bios[] = { "biolat_bio_start", "biolat_bio_complete",
					       "biolat_bios_complete", NULL };
	static const char *const of_owners[] = { "biolat_start", "biolat_insert", "biolat_merge",
						 NULL };
	const struct btf *types = is_top || has_owners ? object_types(run) : NULL;

	leave_out(run, is_top ? of_requests : of_bios);
	if (!is_top && !has_owners)
		leave_out(run, of_owners);
	if (!is_top && !has_owners)
		return 0;
	if (!types)
		return -EINVAL;
	if (is_top && !features_member(types, "bio", "bi_bdev"))
		return msg_error("--layer top: not supported by this kernel (since Linux 5.12)");
	program_leave_out(run, features_tracepoint(types, "block_io_start") ? "biolat_insert"
									    : "biolat_start");
	return 0;
}
