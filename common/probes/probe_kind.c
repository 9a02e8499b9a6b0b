// SPDX-License-Identifier: GPL-2.0-only
/* Names of probe kinds; see probe_kind.h. */
#include "probes/probe_kind.h"

const char *probe_kind_name(enum probe_kind kind)
{
	static const char *const names[PROBE_KINDS] = {
		[PROBE_NOP] = "nop",	       [PROBE_PUSH] = "push",
		[PROBE_ADDRESS] = "address",   [PROBE_BRANCH] = "branch",
		[PROBE_LATE_NOP] = "late nop", [PROBE_STEP] = "stepped",
		[PROBE_REFUSED] = "refused",
	};

	return kind < PROBE_KINDS ? names[kind] : "?";
}
