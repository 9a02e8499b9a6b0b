// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's events of page faults; see faultevents.h. */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "abi/pagefaults.h"
#include "run/bpfmap.h"
#include "modules/cpuevents.h"
#include "pagefaults/faultevents.h"
#include "base/mem.h"
#include "base/msg.h"

static bool minor_only, major_only, anon_only, file_only, is_attached;
static struct cpu_events minor_events, major_events;

static const struct opt fault_opts[] = {
	{ 0, "minor", NULL, OPT_FLAG(&minor_only), "only faults that waited for nothing", "major" },
	{ 0, "major", NULL, OPT_FLAG(&major_only), "only faults that waited for a file or swap" },
	{ 0, "anon", NULL, OPT_FLAG(&anon_only), "only in memory without a file: heap, stack, ...",
	  "file" },
	{ 0, "file", NULL, OPT_FLAG(&file_only), "only in mapped files and shared memory" },
	{},
};

bool faults_want_minor(void)
{
	return !major_only;
}

bool faults_want_major(void)
{
	return !minor_only;
}

uint32_t faults_wanted_kinds(void)
{
	uint32_t anon = 1U << AREA_ANON | 1U << AREA_HEAP | 1U << AREA_STACK | 1U << AREA_SPECIAL;
	uint32_t file = 1U << AREA_FILE | 1U << AREA_SHMEM | 1U << AREA_HUGE;

	return anon_only ? anon : file_only ? file : AREA_ALL_KINDS;
}

/* Every event, with the address that faulted. */
static int attach_event(struct run *run, struct cpu_events *events, uint64_t config,
			const char *name, const char *suffix)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR,
		.disabled = 1,
	};
	char program[32];

	snprintf(program, sizeof(program), "%s_%s", name, suffix);
	return cpu_events_open(events, &attr, ALL_CPUS,
			       bpf_object__find_program_by_name(run->object, program));
}

int faultevents_attach(struct run *run, const char *name)
{
	int err = 0;

	is_attached = true;
	if (faults_want_minor())
		err = attach_event(run, &minor_events, PERF_COUNT_SW_PAGE_FAULTS_MIN, name,
				   "minor");
	if (!err && faults_want_major())
		err = attach_event(run, &major_events, PERF_COUNT_SW_PAGE_FAULTS_MAJ, name,
				   "major");
	return err;
}

/* What all CPUs have counted. */
static struct fault_seen read_seen(const struct run *run)
{
	int fd = bpf_map__fd(map_find(run, "faults_seen")), n_cpus = libbpf_num_possible_cpus();
	struct fault_seen *per_cpu = mem_zalloc((size_t)n_cpus, sizeof(*per_cpu)), all = {};
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, per_cpu))
		n_cpus = 0;
	for (int i = 0; i < n_cpus; i++) {
		all.total += per_cpu[i].total;
		all.unknown += per_cpu[i].unknown;
	}
	free(per_cpu);
	return all;
}

static void stop_events(struct run *run)
{
	uint64_t came = cpu_events_close(&minor_events) + cpu_events_close(&major_events);
	struct fault_seen seen;

	if (!is_attached)
		return;
	is_attached = false;
	seen = read_seen(run);
	if (came > seen.total)
		msg_warn("%llu of the %llu page faults in the system were not seen: another BPF "
			 "program ran",
			 (unsigned long long)(came - seen.total), (unsigned long long)came);
	if (seen.unknown)
		msg_warn("%llu faults in memory of unknown kind", (unsigned long long)seen.unknown);
}

const struct module faultevents_module = {
	.title = "faults",
	.opts = fault_opts,
	.stop = stop_events,
};
