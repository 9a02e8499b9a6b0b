// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "abi/stack_memory.h"
#include "run/bpfmap.h"
#include "stacks/stack_memory.h"

/* Elements of some 400 bytes each: limited on machines with many CPUs. */
#define MOST_BY_CPU  2048
#define LEAST_BY_CPU 64
#define MOST_IN_ALL  4096

int stack_memory_configure(struct run *run)
{
	struct stack_memory_settings settings = { .n = MOST_BY_CPU };
	uint32_t n_cpus = (uint32_t)libbpf_num_possible_cpus();

	if (!map_find(run, "stack_memories"))
		return 0;
	while (settings.n > LEAST_BY_CPU && settings.n * n_cpus > MOST_IN_ALL)
		settings.n /= 2;
	bpf_map__set_max_entries(map_find(run, "stack_memories"), settings.n * n_cpus);
	return map_set_settings(run, ".rodata.memory", &settings, sizeof(settings));
}

void stack_memory_leave_out(const struct run *run)
{
	map_leave_out(run, "stack_memories");
}

void stack_memory_forget(const struct run *run)
{
	const struct bpf_map *map = map_find(run, ".data.memory");
	uint32_t zero = 0;
	uint64_t epoch;

	if (!map || bpf_map_lookup_elem(bpf_map__fd(map), &zero, &epoch))
		return;
	epoch++;
	bpf_map_update_elem(bpf_map__fd(map), &zero, &epoch, BPF_EXIST);
}
