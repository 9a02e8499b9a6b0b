// SPDX-License-Identifier: GPL-2.0-only
/* Lists of CPUs, with gaps as machines with hot-plugged CPUs have them. */
#include "base/cpulist.h"
#include "unit.h"

struct visits {
	uint32_t cpus[64];
	size_t count;
	int verdict; /* what the visitor returns ... */
	uint32_t at; /* ... from this CPU on */
};

static int note_cpu(uint32_t cpu, void *arg)
{
	struct visits *visits = arg;

	if (visits->count < sizeof(visits->cpus) / sizeof(visits->cpus[0]))
		visits->cpus[visits->count++] = cpu;
	return cpu >= visits->at ? visits->verdict : 0;
}

TEST(visits_single_cpus_and_ranges_in_order)
{
	static const uint32_t expected[] = { 0, 1, 2, 3, 8, 10, 11 };
	struct visits visits = {};

	CHECK_EQ(cpulist_visit("0-3,8,10-11\n", note_cpu, &visits), 0);
	CHECK_EQ(visits.count, 7);
	CHECK(!memcmp(visits.cpus, expected, sizeof(expected)));
}

TEST(visits_one_cpu)
{
	struct visits visits = {};

	CHECK_EQ(cpulist_visit("0\n", note_cpu, &visits), 0);
	CHECK_EQ(visits.count, 1);
	CHECK_EQ(visits.cpus[0], 0);
}

TEST(visits_nothing_of_an_empty_list)
{
	struct visits visits = {};

	CHECK_EQ(cpulist_visit("", note_cpu, &visits), 0);
	CHECK_EQ(cpulist_visit("\n", note_cpu, &visits), 0);
	CHECK_EQ(visits.count, 0);
}

TEST(ends_where_the_visitor_says_so)
{
	struct visits in_range = { .verdict = 1, .at = 2 }, later = { .verdict = -5, .at = 8 };

	CHECK_EQ(cpulist_visit("0-3,8", note_cpu, &in_range), 1);
	CHECK_EQ(in_range.count, 3);
	CHECK_EQ(cpulist_visit("0-3,8,9", note_cpu, &later), -5);
	CHECK_EQ(later.count, 5);
}

TEST(visits_as_many_cpus_as_are_online)
{
	struct visits visits = {};
	long n_online = sysconf(_SC_NPROCESSORS_ONLN);

	CHECK_EQ(cpulist_visit_online(note_cpu, &visits), 0);
	CHECK_EQ(visits.count, n_online < 64 ? n_online : 64);
}
