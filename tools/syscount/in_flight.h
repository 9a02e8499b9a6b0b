/* SPDX-License-Identifier: GPL-2.0-only */
/* Collects calls in flight (bpf/abi/call_record.h) and lists them with their age, oldest first. */
#ifndef IN_FLIGHT_H
#define IN_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/call_record.h"
#include "output/table.h"

struct in_flight;
struct kernelnames;

struct in_flight *in_flight_new(void);
void in_flight_free(struct in_flight *flights);

void in_flight_add(struct in_flight *flights, const struct call_flight *flight);
size_t in_flight_count(const struct in_flight *flights);

/*
 * How to list calls, with ages at now_ns. If a call began before tracing (start_ns), its age is the
 * time that its thread has been off CPU ("~"), or at least the time since start_ns (">").
 */
struct in_flight_view {
	uint64_t start_ns, now_ns;
	uint32_t top;		   /* maximum number of calls */
	bool in_ms;		   /* print ages in ms in text */
	struct kernelnames *names; /* kernel symbols for stacks; NULL: no stacks */
};

/* Writes the calls, oldest first. */
void in_flight_write(struct in_flight *flights, struct table_output *to,
		     const struct in_flight_view *view);

#endif
