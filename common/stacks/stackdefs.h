/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stack definitions (bpf/abi/stack.h) from the ring buffer: retained by id as long as something of
 * their process can still be counted. User addresses are located at once, while the process is
 * alive; symbols are looked up on demand. After that, stacks are referred to by the id of their
 * interned stack (the same locations in files), which processes that run the same code share.
 */
#ifndef STACKDEFS_H
#define STACKDEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/runtime.h"
#include "abi/stack.h"
#include "output/frames.h"
#include "process/processes.h"
#include "runtimes/meanings.h"
#include "runtimes/runtimes.h"
#include "stacks/places.h"
#include "symbols/usyms.h"

/*
 * Parts that a user stack lacks because of code that was made at run time, or that has no unwind
 * information: callers, or names.
 */

struct stack_flaw {
	enum {
		FLAW_NONE,
		FLAW_CUT,     /* its outermost frames are missing */
		FLAW_UNNAMED, /* it is complete, but has code without names */
	} kind;
	const struct runtime *runtime; /* runtime that made code in it; NULL: none, or unknown */
	bool has_names;		       /* all its JIT code has a perf map or a jitdump */
	const char *file;	       /* file without unwind information; NULL: JIT code */
	int err;		       /* negative errno: the file could not be opened */
};

/* Frames of runtimes (bpf/abi/runtime.h) among the locations of a stack. */

/* Returns how many of a stack's words are native; these come first. */
uint32_t stack_count_native(const struct stack_def *def);

struct kernelnames;
struct stackdefs;

/* The processes stay the caller's, and outlive this. */
struct stackdefs *stackdefs_new(struct processes *processes, const struct dso_options *options);
void stackdefs_free(struct stackdefs *defs);

/*
 * Sets the kernel symbol resolver (borrowed). NULL: kernel frames print as addresses; the caller
 * has already warned.
 */
void stackdefs_set_kernelnames(struct stackdefs *defs, struct kernelnames *names);

/*
 * Sets the addresses of the tracer's own BPF programs (taken over, freed with free()), so that
 * those of others stay in the stacks. Without it, or with n 0, all programs count as its own.
 */
void stackdefs_set_own(struct stackdefs *defs, uint64_t *programs, size_t n);

/* Adds a definition, a record of size bytes. A known id changes nothing. */
void stackdefs_add(struct stackdefs *defs, const struct stack_def *def, size_t size);

/* Adds the meaning of a function's word; precedes the first stack that has it. */
void stackdefs_add_function(struct stackdefs *defs, const struct runtime_def *def, size_t size);

/* Announces a process whose stacks may arrive after its exit: see usyms_preload(). */
void stackdefs_preload(struct stackdefs *defs, pid_t pid, uint32_t generation);

/*
 * Looks all new addresses up before a report, user addresses file by file, so that each file's
 * symbols are loaded once even if not all fit into memory (dso.h), and kernel addresses together.
 * Calls meanwhile(arg) between files; it may add definitions.
 */
void stackdefs_look_up(struct stackdefs *defs, void (*meanwhile)(void *arg), void *arg);

/* Returns the memory that symbols take. */
struct dso_stats stackdefs_stats(const struct stackdefs *defs);

/* Called when a process has exited and everything sent for it has been read. */
void stackdefs_end_process(struct stackdefs *defs, pid_t pid);

/* Returns the id of a stack's interned stack; the stack's own id if that is unknown. */
uint64_t stackdefs_fold(struct stackdefs *defs, uint64_t id);

/*
 * Selects the counting of whole windows: BPF caches ids of stacks, and all of them are counted
 * before a report. Without this, each is counted at once. Ids that are unused for long are evicted.
 */
void stackdefs_count_by_window(struct stackdefs *defs);

/* Notes that something was counted under that id, or that BPF still has it. */
void stackdefs_use(struct stackdefs *defs, uint64_t id);

/*
 * Called when all counts up to now were drained, for a report or before it, and their ids folded.
 * Releases definitions that nothing is counted under any more, and passes each to `forgotten`, so
 * that BPF sends it again if it recurs.
 */
void stackdefs_end_turn(struct stackdefs *defs, bool is_report,
			void (*forgotten)(uint64_t id, void *arg), void *arg);

/*
 * Called every few seconds: releases cached files, symbols and names that were not used for two
 * epochs (epoch.h). Files that no process maps are closed after resolving their names.
 */
void stackdefs_tick(struct stackdefs *defs, uint64_t now_ns);

/* Ends a report, and ages interned stacks: ids that were folded before become invalid. */
void stackdefs_end_report(struct stackdefs *defs, uint64_t now_ns);

/*
 * Returns the frames of a stack, by its own id or the interned one, root first, of
 * stackdefs_frame_table(); the list is valid until the next call. NULL with *n 0 if the definition
 * never arrived. For a waker, stackdefs_waker() returns its two stacks.
 */
const struct frame *const *stackdefs_frames(struct stackdefs *defs, uint64_t id, size_t *n);

/* Returns the frames of all stacks, which are there until the report ends. */
struct frame_table *stackdefs_frame_table(struct stackdefs *defs);

/*
 * Returns how the walk of a user stack ended (enum unwind_reason); UNWIND_GOES_ON if it is unknown.
 */
int stackdefs_reason(const struct stackdefs *defs, uint64_t id);

/* Returns a stack's flaw; NULL: it is not a user stack, or is unknown. Valid as its frames are. */
const struct stack_flaw *stackdefs_flaw(const struct stackdefs *defs, uint64_t id);

/*
 * Returns a waker's words: user stack, kernel stack and comm; NULL if its definition never arrived.
 */
const uint64_t *stackdefs_waker(const struct stackdefs *defs, uint64_t id);

#endif
