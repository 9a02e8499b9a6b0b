/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * profile --wall: the threads' whole time, on and off CPU. Waits and time on CPU are exact,
 * measured at context switches; samples distribute the time on CPU among stacks.
 */
#ifndef WALL_H
#define WALL_H

#include "base/clock.h"
#include "run/run.h"
#include "stacks/stacks_spec.h"

/* The options. This module must follow sampler_module. */
extern const struct module wall_module;

bool wall_is_asked_for(const struct run *run);

/* Remark of a stack's time. */
enum wall_kind {
	WALL_ON_CPU = 1,
	WALL_BLOCKED,
	WALL_RUNNABLE,
	WALL_THROTTLED,
	WALL_THROUGHOUT, /* blocked from the window's start to its end; only on pages (md) */
	WALL_KINDS,
};
extern const char *const wall_remarks[WALL_KINDS];

const struct writer *wall_usual_writer(const struct run *run);
char *wall_page_line(struct run *run);
stacks_prepare_fn wall_prepare;

/* Members of the tool's struct stacks_spec. */
#define WALL_STACKS                                                                               \
	.raw_unit = "nanoseconds", .divisor = NS_PER_US, .type = "wall", .remarks = wall_remarks, \
	.n_remarks = WALL_KINDS, .are_waits = true, .rest_remark = WALL_BLOCKED,                  \
	.page_line = wall_page_line, .usual_writer = wall_usual_writer, .prepare = wall_prepare,  \
	.run_remark = WALL_ON_CPU

/* Begins what only a page has; called once attached. 0 or -errno, printed. */
int wall_start_page(struct run *run);

/* The tool's report(). */
int wall_report(struct run *run);

#endif
