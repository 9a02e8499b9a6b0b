// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the messages about missing capabilities. */
#include <linux/capability.h>
#include <sys/resource.h>

#include "run/capabilities.h"
#include "unit.h"

#define BIT(n) (1ULL << (n))

static const char *missing(uint64_t held, bool required)
{
	static char buf[256];

	return capabilities_missing(buf, sizeof(buf), held, required);
}

TEST(missing_ones_are_listed)
{
	char buf[16];

	CHECK_STR(missing(0, true), "CAP_BPF, CAP_PERFMON");
	CHECK_STR(missing(BIT(39), true), "CAP_PERFMON");
	CHECK_STR(missing(BIT(38) | BIT(39), true), "");
	CHECK_STR(missing(BIT(38) | BIT(39), false),
		  "CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE");
	CHECK_STR(missing(BIT(19) | BIT(40), false), "CAP_DAC_READ_SEARCH, CAP_SYSLOG");
	CHECK_STR(missing(UINT64_MAX, true), "");
	CHECK_STR(missing(UINT64_MAX, false), "");
	/* sys admin stands in for the new ones */
	CHECK_STR(missing(BIT(21), true), "");
	CHECK_STR(missing(BIT(21), false), "CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG");
	/* a short buffer is enough for its size */
	CHECK_STR(capabilities_missing(buf, sizeof(buf), 0, true), "CAP_BPF, CAP_PE");
}

TEST(they_are_known_without_a_free_descriptor)
{
	bool are_held = capabilities_have(CAP_SYS_PTRACE);
	struct rlimit before, none = {};

	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	none.rlim_max = before.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK_EQ(capabilities_have(CAP_SYS_PTRACE), are_held);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
}
