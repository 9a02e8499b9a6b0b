/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module of all stack tools: options of their output, definitions drained while tracing, and
 * the report: counts by name, joined with definitions, as a profile, through a writer.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/stack.h"
#include "run/bpfmap.h"
#include "output/profile.h"
#include "run/tool.h"

extern const struct module stacks_module;

/* --top, for tools whose reports add up. */
extern const struct module stacks_top_module;

/* False with -K: then nobody needs to walk user stacks. */
bool stacks_want_user(void);

/*
 * For tools that can show something else. Some option about stacks was given; and, from a tool's
 * check(): there will be none, and nothing is to be prepared for them.
 */
bool stacks_are_asked_for(void);
void stacks_leave_out(void);

/*
 * A tool's raw values become its unit when they are divided (1000: nanoseconds to microseconds). By
 * default they are in its unit. Formats for other programs are written in the raw unit.
 */
void stacks_set_raw_unit(const char *unit, uint64_t divisor);

/* -a, of the tools that have it: kernel frames are marked. */
void stacks_set_annotate(bool annotate);

/* Defines a user stack that BPF did not take; for ids with STACK_ID_AT_START. */
void stacks_define(const struct stack_def *def);

struct stacks_value {
	struct stack_sum sum;
	struct block_facts blocks;
};

/*
 * For tools whose values are not those that stack_count() adds up: where they come from (a struct
 * stack_key and a struct stacks_value for each visit), and who writes them as text. Both before the
 * options are checked; the tables of counts are left out then.
 */
struct stacks_source {
	int (*read)(struct run *run, map_visit_fn *visit, void *arg);
	void (*write_text)(struct run *run);
};

void stacks_set_source(const struct stacks_source *source);

/* Nobody wants user stacks. Before the options are checked. */
void stacks_leave_out_user(void);

/*
 * Text into a pipe or file too, unless another format is asked for. Before the options are checked.
 */
void stacks_prefer_text(void);

/* Once options are checked: the report is for people. */
bool stacks_are_text(void);

/* Where processes' mappings are put down: see mapslog.h. Once this module has started. */
struct mapslog;
void stacks_set_log(struct mapslog *log);

/* A process is there whose stacks will come, maybe when it has ended; after so many execs. */
void stacks_meet(pid_t pid, uint32_t generation);

/* The frames of a stack, root first, for write_text; NULL where its definition never arrived. */
const struct frame *stacks_frames(uint64_t id, size_t *n);

/* The report() of every stack tool. */
int stacks_report(struct run *run);

#endif
