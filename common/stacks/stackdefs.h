/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stack definitions (bpf/abi/stack.h) as they come out of the ring buffer: kept by name, user addresses
 * located at once, while their process is alive, symbols looked up when they are asked for.
 */
#ifndef STACKDEFS_H
#define STACKDEFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/stack.h"
#include "output/profile.h"
#include "symbols/usyms.h"

struct kernelnames;
struct stackdefs;

struct stackdefs *stackdefs_new(const struct dso_options *options);
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

/* See usyms_set_log(). */
void stackdefs_set_log(struct stackdefs *defs, struct mapslog *log);

/* Takes in a record of size bytes. A name that is known already changes nothing. */
void stackdefs_add(struct stackdefs *defs, const struct stack_def *def, size_t size);

/* A process whose stacks may come when it has ended: see usyms_meet(). */
void stackdefs_meet(struct stackdefs *defs, pid_t pid, uint32_t generation);

/* A process has exited: its pid may be another's next. Call it when all its records are in. */
void stackdefs_forget(struct stackdefs *defs, pid_t pid);

/*
 * Before a report: looks all new addresses up, user addresses file by file, so that each file's
 * symbols are loaded once even if not all can be kept (dso.h), and kernel addresses together. What
 * could be read ahead was, while the tool waited (background.h).
 */
void stackdefs_look_up(struct stackdefs *defs);

/* How much memory the symbols take. */
struct dso_stats stackdefs_stats(const struct stackdefs *defs);

/*
 * The frames of a stack, root first; valid until stackdefs_free(). NULL with *n 0 where the
 * definition never arrived. For a waker, the two stacks it names are given by stackdefs_waker().
 */
const struct frame *stackdefs_frames(struct stackdefs *defs, uint64_t id, size_t *n);

/* How the walk of a user stack ended (enum unwind_reason); UNWIND_GOES_ON where it isn't known. */
int stackdefs_reason(const struct stackdefs *defs, uint64_t id);

/* A waker's definition: user stack, kernel stack and comm; NULL where it never arrived. */
const struct stack_def *stackdefs_waker(const struct stackdefs *defs, uint64_t id);

#endif
