/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF programs on perf events on every CPU that is online. A CPU that goes offline takes its events
 * with it; when it comes back it gets new ones.
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
	int fd; /* descriptor of the event, to read its count */
	uint32_t cpu;
};

struct cpu_events {
	struct cpu_event_kind {
		struct perf_event_attr attr;
		uint32_t cpu; /* or ALL_CPUS */
		const struct bpf_program *program;
		uint64_t cookie;
	} kinds[CPU_EVENT_KINDS];
	size_t n_kinds;
	struct cpu_event *items;
	size_t count, cap;
	uint64_t closed_count; /* counts of the events whose CPU went offline */
	struct hotplug hotplug;
	uint32_t gone_cpu; /* that went last, ... */
	uint64_t gone_ns;  /* ... and when; 0: none yet */
};

#define ALL_CPUS UINT32_MAX

/*
 * Adds an event like attr, with the program on it, for one CPU or for all: up to CPU_EVENT_KINDS.
 * cookie: value of bpf_get_attach_cookie() in the program; other than 0 since 5.15 only. 0 or
 * -errno, printed; what was opened until then is closed by cpu_events_close().
 */
int cpu_events_open(struct cpu_events *events, const struct perf_event_attr *attr, uint32_t cpu,
		    const struct bpf_program *program, uint64_t cookie);

/*
 * Opens the events on CPUs that come online while the loop runs, with a warning. events stays where
 * it is.
 */
void cpu_events_watch(struct cpu_events *events, struct loop *loop);

/* Returns how often the events came so far, even if the program didn't run. */
uint64_t cpu_events_count(const struct cpu_events *events);

/* Stops all events and frees the list. Returns how often they came. */
uint64_t cpu_events_close(struct cpu_events *events);

/* Opens the event of one CPU, without a program, as perf_event_open(2) returns it; -1 and errno. */
int cpu_event_open(const struct perf_event_attr *attr, uint32_t cpu);

#endif
