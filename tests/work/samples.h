/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's own sampling of a workload, for comparison with profile's. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "work.h"

/*
 * Samples the calling thread by a perf event: hz times a second by cycles, or by CPU time if cycles
 * aren't counted; or, with hz 0, every period_ns of CPU time. Tools can be compared with it even on
 * machines that lose samples: an emulated CPU may stand still while its clock goes on.
 */
static inline void work_sample(struct perf_event_mmap_page **ring, uint64_t hz, uint64_t period_ns)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .freq = !period_ns };
	void *memory;
	int fd = -1;

	attr.sample_freq = hz ? hz : period_ns;
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	if (hz)
		fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	if (fd < 0)
		fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	memory = mmap(NULL, 2 * (size_t)getpagesize(), PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		exit(1);
	*ring = memory;
}

/* Returns the number of samples: only headers, in a ring that is never read. */
static inline uint64_t work_samples(const struct perf_event_mmap_page *ring)
{
	return ring->data_head / sizeof(struct perf_event_header);
}

#endif
