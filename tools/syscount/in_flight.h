/* SPDX-License-Identifier: GPL-2.0-only */
/* Collects calls in flight (bpf/abi/call_record.h) and lists them with their age, oldest first. */
#ifndef IN_FLIGHT_H
#define IN_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/call_record.h"
#include "output/table.h"

struct kernelnames;

struct in_flight_item {
	struct call_flight flight;
	uint64_t age_ns;
	const char *mark, *age_is; /* accuracy of the age: a prefix in text, and a word */
};

/* All zero: none. The caller frees items. */
struct in_flight {
	struct in_flight_item *items;
	size_t count, cap;
};

void in_flight_add(struct in_flight *flights, const struct call_flight *flight);

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
