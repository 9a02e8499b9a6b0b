/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tool's declaration of its stacks, as data. Functions that depend on options are called after
 * the options have been checked.
 */
#ifndef STACKS_SPEC_H
#define STACKS_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/profile.h"
#include "run/bpfmap.h"

struct stack_key;
struct stack_sums;
struct writer;

struct stacks_value {
	uint64_t value;
	uint64_t columns[PROFILE_COLUMNS];
	const char *group; /* a marker at the stack's root; NULL: none */
};

/* Values from another source than stack_count() (bpf/stack/stack.bpf.h). */
struct stacks_source {
	/*
	 * Calls visit for each stack with a struct stack_key and a struct stacks_value, and with
	 * value 0 for each stack that may be shown later: stacks that are not visited for two
	 * reports are evicted.
	 */
	int (*read)(struct run *run, map_visit_fn *visit, void *arg);
	void (*write_text)(struct run *run);
	void (*append_json)(struct run *run); /* adds members after the stacks; NULL: none */
	bool adds_up; /* a report has the difference to the previous one; else totals */
};

/*
 * Converts all counted values at once to reported ones with remarks, for tools that can't convert
 * them one by one. by_process: tgids are distinguished.
 */
typedef void stacks_prepare_fn(struct run *run, const struct stack_sums *counted, bool by_process,
			       struct stack_sums *reported);

struct stacks_spec {
	/*
	 * Converts BPF's totals to the tool's unit: 1000, "nanoseconds" to microseconds. Formats
	 * for other programs are written in the raw unit. 0: no conversion.
	 */
	uint64_t divisor;
	const char *raw_unit;

	/* by stack_key.remark, from 1 on; n_remarks includes number 0 */
	const char *const *remarks;
	size_t n_remarks;
	bool has_events; /* formats in time may show each stack_count() as an event */
	/* remarks of single events, which prepare() has not converted; NULL: the same */
	const char *const *event_remarks;
	size_t n_event_remarks;
	/* number of the remark that --without-throughout only totals; 0: none */
	unsigned int throughout_remark;
	const char *type;	      /* type of values in pprof; NULL: derived from their unit */
	bool are_waits;		      /* idle threads of Go programs become [idle] */
	unsigned int rest_remark;     /* only waits with this remark can be idle; 0: all can */
	const struct column *columns; /* further values: stack_sum.part, ...; NULL: none */
	const struct stacks_source *source; /* NULL: the tables of stack_count() */

	stacks_prepare_fn *prepare; /* NULL: counts are reported unchanged */
	unsigned int run_remark;    /* the remark that prepare() gives time on CPU */

	bool (*wants_user)(const struct run *run); /* user stacks are walked; NULL: yes */
	bool needs_kernel;			   /* kernel stacks are needed, even if not shown */
	/* format if none is requested; NULL, or returns NULL: text on a terminal, else folded */
	const struct writer *(*usual_writer)(const struct run *run);
	bool (*hits_few)(const struct run *run); /* most short processes have no stack; NULL: no */

	/*
	 * tracing programs that walk user stacks, then NULL: with those on perf events, they are
	 * loaded again for a runtime that begins later (object_load_again()); NULL: none
	 */
	const char *const *walkers;
	bool keeps_programs; /* no program is loaded again */

	/* for keys with a group (struct stack_key): the marker at the stack's root */
	const char *(*group_mark)(const struct run *run, uint32_t group);
	/* returns false for keys that a report omits; NULL: none */
	bool (*shows)(const struct run *run, const struct stack_key *key);

	/* returns a further line of a page about the target, freed by the caller; NULL: none */
	char *(*page_line)(struct run *run);

	/* adds a report's metrics, in the raw unit without stacks; needs numbers_module */
	void (*add_metrics)(struct run *run, const struct profile *profile);
};

#endif
