/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A BPF program on a perf event on every CPU that is online. A CPU that goes away takes its event
 * with it; one that comes has none.
 */
#ifndef CPUEVENTS_H
#define CPUEVENTS_H

#include <stddef.h>
#include <stdint.h>

#include <bpf/libbpf.h>
#include <linux/perf_event.h>

struct cpu_event {
	struct bpf_link *link;
	int fd; /* the event, to read its count */
};

struct cpu_events {
	struct cpu_event *items;
	size_t count, cap;
};

#define ALL_CPUS UINT32_MAX

/*
 * Adds an event like attr, with the program on it, for one CPU or for all. 0 or -errno, printed;
 * what was opened until then is closed by cpu_events_close().
 */
int cpu_events_open(struct cpu_events *events, const struct perf_event_attr *attr, uint32_t cpu,
		    const struct bpf_program *program);

/*
 * Stops them all and frees the list. Returns how often they came, whether the program ran or not.
 */
uint64_t cpu_events_close(struct cpu_events *events);

/* The event of one CPU, without a program, as perf_event_open(2) returns it; -1 and errno. */
int cpu_event_open(const struct perf_event_attr *attr, uint32_t cpu);

#endif
