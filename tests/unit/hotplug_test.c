// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the kernel's reports of CPUs that come and go. */
#include "base/hotplug.h"
#include "unit.h"

static bool parse(const char *text, uint32_t *cpu, bool *is_online)
{
	return hotplug_parse(text, strlen(text), cpu, is_online);
}

TEST(cpus_come_and_go)
{
	bool is_online = false;
	uint32_t cpu = 0;

	CHECK(parse("online@/devices/system/cpu/cpu17", &cpu, &is_online));
	CHECK(cpu == 17 && is_online);
	CHECK(parse("offline@/devices/system/cpu/cpu3", &cpu, &is_online));
	CHECK(cpu == 3 && !is_online);
}

TEST(other_messages_are_left_alone)
{
	static const char *const texts[] = {
		"",
		"online@/devices/system/memory/memory7",
		"add@/devices/system/cpu/cpu1",
		"online@/devices/system/cpu/cpu",
		"online@/devices/system/cpu/cpu1/cache",
		"libudev",
	};
	bool is_online;
	uint32_t cpu;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK(!parse(texts[i], &cpu, &is_online));
}
