// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the messages about limits. */
#include <sys/resource.h>

#include "base/limits.h"
#include "unit.h"

static char text[128];

static const char *hint_of(int err)
{
	const char *hint = limit_hint(err, text, sizeof(text));

	return hint ? hint : "";
}

TEST(open_files_are_told_with_their_number)
{
	struct rlimit files, few;

	CHECK(!getrlimit(RLIMIT_NOFILE, &files));
	few = files;
	few.rlim_cur = 77;
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	CHECK_HAS(hint_of(-EMFILE), "limit: 77 open files");
	CHECK_HAS(hint_of(-EMFILE), "ulimit -n");
	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
}

TEST(address_space_is_told_where_it_is_limited)
{
	struct rlimit space, less;

	CHECK(!getrlimit(RLIMIT_AS, &space));
	if (space.rlim_cur != RLIM_INFINITY)
		SKIP("it is limited here");
	CHECK_HAS(hint_of(-ENOMEM), "memory.max");
	less = space;
	less.rlim_cur = 999ULL << 40;
	CHECK(!setrlimit(RLIMIT_AS, &less));
	CHECK_HAS(hint_of(-ENOMEM), "1047527424 MB of address space");
	CHECK(!setrlimit(RLIMIT_AS, &space));
}

TEST(other_errors_are_no_limits)
{
	CHECK_STR(hint_of(-ENOENT), "");
	CHECK_STR(hint_of(0), "");
	CHECK(!limit_is_reached(-EINVAL));
	CHECK(!limit_is_reached(-E2BIG)); /* also how old kernels refuse what they don't know */
	CHECK(limit_is_reached(-EMFILE));
	CHECK(limit_is_reached(-ENOMEM));
}
