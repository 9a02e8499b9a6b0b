/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module of all stack tools: options of their output, definitions read while tracing, and the
 * report: values by stack, joined with definitions, as a profile, through a writer. A tool declares
 * a struct stacks_spec for it.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/stack.h"
#include "stacks/stacks_spec.h"
#include "stacks/top_writer.h"

extern const struct module stacks_module;

/* The report() of every stack tool. */
int stacks_report(struct run *run);

/*
 * Returns true if some option about stacks alone was given: for tools that can show something else.
 */
bool stacks_options_are_given(const struct run *run);

/* Returns true if user stacks are to be walked: for the use of unwind_module (unwind_maps.h). */
bool stacks_want_user(const struct run *run);

/* Returns true if the report is for people, once options are checked. */
bool stacks_are_text(const struct run *run);

/*
 * Defines the user stack of a thread that is off CPU, walked from outside: BPF refers to it by
 * STACK_ID_AT_START and the thread's number.
 */
struct unwind_thread;
void stacks_define_thread(const struct run *run, const struct unwind_thread *thread);

/* See user_stacks_watch(). From configure() on, also for modules that start before this one. */
struct watch;
struct watch *stacks_watch(const struct run *run);

/*
 * Announces a process whose stacks will come, maybe when it has exited. generation: its number of
 * execs.
 */
void stacks_preload(const struct run *run, pid_t pid, uint32_t generation);

/*
 * Returns the frames of a stack, root first, for write_text; NULL if its definition never arrived.
 * Valid until the next call.
 */
const struct frame *const *stacks_frames(const struct run *run, uint64_t id, size_t *n);

/*
 * Returns the id of its interned stack, the same for equal stacks: copied stacks have ids of their
 * own.
 */
uint64_t stacks_fold(const struct run *run, uint64_t id);

/* Returns a waker's words (struct stack_def): its user stack, its kernel stack; NULL as above. */
const uint64_t *stacks_waker(const struct run *run, uint64_t id);

/* Returns the table of processes, from configure() on. */
struct processes *stacks_processes(const struct run *run);

/* Returns the kernel symbol resolver, once it has started; NULL: none. */
struct kernelnames *stacks_kernelnames(const struct run *run);

/* Returns --stack-storage-size, for other tables by stack. */
uint32_t stacks_entries(const struct run *run);

/* Returns true if --only and --without select it, for write_text. */
bool stacks_show(const struct run *run, const char *comm, uint64_t id);

#endif
