/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls counted by BPF (bpf/syscount.bpf.c), from the loader's side: maps, in and out. */
#ifndef COMMON_CALLS_H
#define COMMON_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/call_record.h"
#include "syscount/calltable.h"
#include "run/tool.h"

/* What a user asks for. */
struct call_wishes {
	struct call_layout layout;   /* all but comm_of and arg */
	bool in_flight;		     /* list the calls that have not returned */
	uint32_t entries;	     /* rows that can be told apart, while they are counted */
	struct call_settings filter; /* ppid, error, numbers, only_*: the rest is filled in */
};

/* Before load: settings, sizes, and what isn't needed is left out. wishes is kept by reference. */
int calls_configure(struct run *run, struct call_wishes *wishes);

/* After load, before anything is attached: the calls that are under way now. */
int calls_start(struct run *run);

int calls_report(struct run *run);

/* After the last report. */
extern const struct module calls_module;

#endif
