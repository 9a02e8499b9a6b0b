/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls in flight (bpf/abi/call_record.h): collected, and listed with their age, oldest first. */
#ifndef IN_FLIGHT_H
#define IN_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/call_record.h"

struct in_flight;
struct kernelnames;

struct in_flight *in_flight_new(void);
void in_flight_free(struct in_flight *flights);

void in_flight_add(struct in_flight *flights, const struct call_flight *flight);
size_t in_flight_count(const struct in_flight *flights);

/*
 * Prints at most top of them as they were at now_ns, their stacks with names (NULL: without
 * stacks). Of a call from before the tracing, which began at start_ns, the age is how long its
 * thread has not run ("~"), or at least that of the tracing (">").
 */
void in_flight_print(struct in_flight *flights, FILE *f, uint64_t start_ns, uint64_t now_ns,
		     uint32_t top, bool in_ms, struct kernelnames *names);

/* Prints the calls as lines of JSON. */
void in_flight_print_json(struct in_flight *flights, FILE *f, uint64_t start_ns, uint64_t now_ns,
			  uint32_t top, struct kernelnames *names);

#endif
