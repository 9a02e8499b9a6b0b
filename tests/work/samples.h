/* SPDX-License-Identifier: GPL-2.0-only */
/* How often the kernel itself samples a workload, for those that are compared with profile. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "work.h"

/*
 * Has the kernel sample the calling thread for us too: hz times a second of cycles or, where they
 * aren't counted, of CPU time; or every period_ns of CPU time. What a sampling tool sees of the
 * thread can be compared with that on machines that lose samples as well: an emulated CPU stands
 * still at times, while its clock goes on.
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

/*
 * A sample without contents is a header; nobody empties the ring, so its end is where it would be.
 */
static inline uint64_t work_samples(const struct perf_event_mmap_page *ring)
{
	return ring->data_head / sizeof(struct perf_event_header);
}

#endif
