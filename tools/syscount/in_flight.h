/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls in flight (bpf/abi/call_record.h): collected, and listed with their age, oldest first. */
#ifndef FLIGHTS_H
#define FLIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/call_record.h"

struct flights;
struct kernelnames;

struct flights *flights_new(void);
void flights_free(struct flights *flights);

void flights_add(struct flights *flights, const struct call_flight *flight);
size_t flights_count(const struct flights *flights);

/*
 * Prints at most top of them as they were at now_ns, their stacks with names (NULL: without
 * stacks). Of a call from before the tracing, which began at start_ns, the age is how long its
 * thread has not run ("~"), or at least that of the tracing (">").
 */
void flights_print(struct flights *flights, FILE *f, uint64_t start_ns, uint64_t now_ns,
		   uint32_t top, bool in_ms, struct kernelnames *names);

/* The same as lines of JSON. */
void flights_print_json(struct flights *flights, FILE *f, uint64_t start_ns, uint64_t now_ns,
			uint32_t top, struct kernelnames *names);

#endif
