/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls counted by BPF (bpf/syscount.bpf.c): configures its maps and reads them. */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/call_record.h"
#include "run/run.h"
#include "syscount/calltable.h"

/* Settings from the user's options. */
struct call_request {
	struct call_layout layout;   /* all fields except comm_of, has_ended and arg */
	uint32_t top;		     /* maximum rows of each table */
	bool in_flight;		     /* list calls that have not returned */
	uint32_t entries;	     /* maximum number of distinct rows while counting */
	struct call_settings filter; /* ppid, error, numbers, only_failed; the rest is 0 */
};

extern const struct module calls_module;

/* The tool's declaration: converts its options to settings. */
struct calls_spec {
	struct call_request (*request)(const struct run *run);
};

/* Returns true if task states are needed: condition for taskstate_module. */
bool calls_are_tracked(const struct run *run);

/* The tool's report(). */
int calls_report(struct run *run);

#endif
