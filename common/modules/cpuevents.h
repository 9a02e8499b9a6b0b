/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF programs on perf events on every online CPU. When a CPU goes offline, its events end; when it
 * returns, new events are opened.
 */
#ifndef CPUEVENTS_H
#define CPUEVENTS_H

#include <stddef.h>
#include <stdint.h>

#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "base/hotplug.h"

#define CPU_EVENT_KINDS 2

struct cpu_event {
	struct bpf_link *link;
	int fd; /* duplicate of the event's descriptor, to read its count */
	uint32_t cpu;
	uint32_t n_kind; /* index of its kind */
};

struct cpu_events {
	struct cpu_event_kind {
		struct perf_event_attr attr;
		uint32_t cpu; /* CPU number or ALL_CPUS */
		const struct bpf_program *program;
		uint64_t cookie;
	} kinds[CPU_EVENT_KINDS];
	size_t n_kinds;
	struct cpu_event *items;
	size_t count, cap;
	uint64_t closed_count; /* total count of events whose CPU went offline */
	struct hotplug hotplug;
	uint32_t gone_cpu; /* CPU that went offline last */
	uint64_t gone_ns;  /* time at which gone_cpu went offline; 0: none yet */
};

#define ALL_CPUS UINT32_MAX

/*
 * Opens an event with a program on one CPU, or on each with ALL_CPUS; called up to CPU_EVENT_KINDS
 * times. cookie: value of bpf_get_attach_cookie() in the program; must be 0 before 5.15. 0 or
 * -errno, printed; cpu_events_close() closes all events opened until then.
 */
int cpu_events_open(struct cpu_events *events, const struct perf_event_attr *attr, uint32_t cpu,
		    const struct bpf_program *program, uint64_t cookie);

/* Opens events on CPUs that come online during the loop, with a warning. events must not move. */
void cpu_events_watch(struct cpu_events *events, struct loop *loop);

/*
 * Opens events with another program, in place of those with the former program. Before 5.15 an
 * event can't change its program.
 */
void cpu_events_replace(struct cpu_events *events, const struct bpf_program *former,
			const struct bpf_program *program);

/* Returns the number of events so far, including those for which the program didn't run. */
uint64_t cpu_events_count(const struct cpu_events *events);

/* Stops all events and frees the list. Returns the number of events. */
uint64_t cpu_events_close(struct cpu_events *events);

/* Opens an event on one CPU, without a program. Returns the descriptor; -1 with errno. */
int cpu_event_open(const struct perf_event_attr *attr, uint32_t cpu);

#endif
