/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stack definitions (bpf/abi/stack.h) as they come out of the ring buffer: kept by name as long as
 * something of their process can still be counted. User addresses are located at once, while the
 * process is alive; symbols are looked up when they are asked for. What is kept for longer has the
 * name of its trace (traces.h), which is the same for all processes that run the same code.
 */
#ifndef STACKDEFS_H
#define STACKDEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/python.h"
#include "abi/stack.h"
#include "output/frames.h"
#include "symbols/usyms.h"

struct kernelnames;
struct stack_flaw;
struct stackdefs;

/* The processes stay the caller's, and outlive this. */
struct stackdefs *stackdefs_new(struct processes *processes, const struct dso_options *options);
void stackdefs_free(struct stackdefs *defs);

/*
 * Who tells the names of kernel frames (kernelnames.h); stays the caller's. Without: addresses, and
 * not a word, for the caller knows why.
 */
void stackdefs_set_kernelnames(struct stackdefs *defs, struct kernelnames *names);

/*
 * Where the tracer's own BPF programs begin (taken over, freed with free()), so that those of
 * others stay in the stacks. Without it, or with n 0, all programs are taken for its own.
 */
void stackdefs_set_own(struct stackdefs *defs, uint64_t *programs, size_t n);

/* Takes in a record of size bytes. A name that is known already changes nothing. */
void stackdefs_add(struct stackdefs *defs, const struct stack_def *def, size_t size);

/* What a Python frame's word means, which comes before the first stack that has it. */
void stackdefs_add_python(struct stackdefs *defs, const struct python_def *def, size_t size);

/* A process whose stacks may come when it has ended: see usyms_meet(). */
void stackdefs_meet(struct stackdefs *defs, pid_t pid, uint32_t generation);

/*
 * Before a report: looks all new addresses up, user addresses file by file, so that each file's
 * symbols are loaded once even if not all can be kept (dso.h), and kernel addresses together. What
 * could be read ahead was, while the tool waited (background.h). Calls meanwhile(arg) between
 * files; it may add definitions.
 */
void stackdefs_look_up(struct stackdefs *defs, void (*meanwhile)(void *arg), void *arg);

/* How much memory the symbols take. */
struct dso_stats stackdefs_stats(const struct stackdefs *defs);

/* A process has ended, and all it has sent has been read. */
void stackdefs_end_process(struct stackdefs *defs, pid_t pid);

/* The name of a stack's trace; the name itself where it isn't known. */
uint64_t stackdefs_fold(struct stackdefs *defs, uint64_t id);

/*
 * BPF keeps names of stacks, and all that it keeps are counted before a report. Without this, each
 * is counted as soon as it is met. What has not been used for long enough is let go of.
 */
void stackdefs_count_by_window(struct stackdefs *defs);

/* Something was counted under that name, or BPF still has it. */
void stackdefs_use(struct stackdefs *defs, uint64_t id);

/*
 * All counts up to now have been taken away, for a report or before it, and their names folded:
 * lets go of definitions that nothing is counted under any more, each of which is named to
 * `forgotten`, so that it is sent again should it come again.
 */
void stackdefs_end_turn(struct stackdefs *defs, bool is_report,
			void (*forgotten)(uint64_t id, void *arg), void *arg);

/* To be called every few seconds: closes files that nobody maps, whose names are found before. */
void stackdefs_let_go_files(struct stackdefs *defs);

/* The same after a report, for traces: no name that was folded before is kept. */
void stackdefs_end_report(struct stackdefs *defs);

/*
 * The frames of a stack, by either name, root first, of stackdefs_frame_table(); the list is valid
 * until the next call. NULL with *n 0 where the definition never arrived. For a waker, the two
 * stacks it names are given by stackdefs_waker().
 */
const struct frame *const *stackdefs_frames(struct stackdefs *defs, uint64_t id, size_t *n);

/* The frames of all stacks, which are there until the report ends. */
struct frame_table *stackdefs_frame_table(struct stackdefs *defs);

/* How the walk of a user stack ended (enum unwind_reason); UNWIND_GOES_ON where it isn't known. */
int stackdefs_reason(const struct stackdefs *defs, uint64_t id);

/* What a user stack lacks; NULL: it is none, or isn't known. Valid as its frames are. */
const struct stack_flaw *stackdefs_flaw(const struct stackdefs *defs, uint64_t id);

/* A waker's words: user stack, kernel stack and comm; NULL where its definition never arrived. */
const uint64_t *stackdefs_waker(const struct stackdefs *defs, uint64_t id);

#endif
