/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks by where they are in files, which is the same for all processes that run the same code:
 * one trace for each, that outlives the processes. Names are looked up when they are asked for.
 */
#ifndef TRACES_H
#define TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/stack.h"
#include "base/hashtable.h"
#include "output/frames.h"
#include "stacks/stack_flaw.h"
#include "symbols/usyms.h"

#define WAKER_WORDS  4 /* of STACK_WAKER: */
#define WAKER_STACKS 2 /* the first are names of stacks */

struct trace {
	struct hashlink link;
	uint64_t id; /* with STACK_ID_FOLDED */
	uint32_t kind, reason;
	uint64_t waker[WAKER_WORDS]; /* of STACK_WAKER, which has no places */
	struct stack_flaw flaw;	     /* of a user stack */
	char *file;		     /* the name of the one in it; NULL: none */
	unsigned int n_users;	     /* definitions that stand for it: the caller counts */
	uint32_t last_used;	     /* by a report */
	bool is_trimmed;
	uint32_t n_trimmed; /* places at the leaf that are the tracer's */
	uint32_t n;
	struct known_place *places[]; /* leaf first */
};

struct kernelnames;
struct known_place;
struct traces;

/* The processes stay the caller's, and outlive this. */
struct traces *traces_new(struct processes *processes, const struct dso_options *options);
void traces_free(struct traces *traces);

/* See stackdefs.h. */
void traces_set_kernelnames(struct traces *traces, struct kernelnames *names);
void traces_set_own(struct traces *traces, uint64_t *programs, size_t n);
void traces_preload(struct traces *traces, pid_t pid, uint32_t generation);
void traces_look_up(struct traces *traces, void (*meanwhile)(void *arg), void *arg);
struct dso_stats traces_stats(const struct traces *traces);

/* Returns the meanings of Python frames, to be filled in. */
struct python_codes *traces_codes(struct traces *traces);

/*
 * Returns the trace of a definition; user addresses are located at once, while their process is
 * alive.
 */
struct trace *traces_add(struct traces *traces, const struct stack_def *def);
struct trace *traces_add_waker(struct traces *traces, const uint64_t words[WAKER_WORDS]);

/* NULL: there is none of that id. */
struct trace *traces_find(struct traces *traces, uint64_t id);

/* Its frames, root first, of traces_frame_table(). The list is valid until the next call. */
const struct frame *const *trace_frames(struct traces *traces, struct trace *trace, size_t *n);

/* Returns the table of frames. Its entries at the end of a report may be gone after it. */
struct frame_table *traces_frame_table(struct traces *traces);

/* To be called every few seconds, see usyms_release_files(): traces stay, and so do their names. */
void traces_release_files(struct traces *traces);

/* Ends a report: evicts interned stacks that it and the one before did not use. */
void traces_end_report(struct traces *traces);

#endif
