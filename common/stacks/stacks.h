/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module of all stack tools: output options, definitions read while tracing, and the report:
 * values by stack, joined with definitions into a profile, which a writer prints. A tool declares a
 * struct stacks_spec for it.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/stack.h"
#include "stacks/stacks_spec.h"
#include "stacks/top_writer.h"

extern const struct module stacks_module;

/* Makes a report; the report() of every stack tool. */
int stacks_report(struct run *run);

/*
 * Returns true if an option that is only for stacks was given: for tools that also show other
 * results.
 */
bool stacks_options_are_given(const struct run *run);

/* Returns true if user stacks are walked. */
bool stacks_want_user(const struct run *run);

/* Returns true if the report is text for people. Valid once options are checked. */
bool stacks_are_text(const struct run *run);

/*
 * Defines the user stack of a thread that is off CPU, by a walk from outside, under the id that BPF
 * has chosen.
 */
struct unwind_thread;
void stacks_define_thread(const struct run *run, const struct unwind_thread *thread);

/*
 * Defines a user stack that was found in the process's memory now: n return addresses, at most
 * STACK_DEPTH, leaf first. reason: how it ends (enum unwind_reason). Returns its id.
 */
uint64_t stacks_define(const struct run *run, pid_t tgid, const uint64_t *words, size_t n,
		       int reason);

/* Adds a count, which doesn't come from BPF, of a defined stack. */
void stacks_count(const struct run *run, const struct stack_key *key, const struct stack_sum *sum);

/*
 * Returns the watch over processes (see user_stacks_watch()), from configure() on, also for modules
 * that start before this one.
 */
struct watch;
struct watch *stacks_watch(const struct run *run);

/* Announces a process whose stacks may arrive after its exit. generation: its number of execs. */
void stacks_preload(const struct run *run, pid_t pid, uint32_t generation);

/*
 * Returns the frames of a stack, root first, for write_text; NULL if its definition never arrived.
 * Valid until the next call.
 */
const struct frame *const *stacks_frames(const struct run *run, uint64_t id, size_t *n);

/*
 * Returns the id of the interned stack. Equal stacks have the same one, even copied stacks, whose
 * own ids differ.
 */
uint64_t stacks_fold(const struct run *run, uint64_t id);

/*
 * Returns a waker's words (struct stack_def): its user stack, its kernel stack; NULL if its
 * definition never arrived.
 */
const uint64_t *stacks_waker(const struct run *run, uint64_t id);

/*
 * For tools that print single events: returns the event's stack as reports show it, without names
 * of tasks; NULL: --only or --without omit it. Valid until the next call. stacks_end_events() is
 * the rest of their report().
 */
const struct sample *stacks_event(struct run *run, const struct stack_key *key);
void stacks_end_events(struct run *run);

/* Returns the style of text, by options. */
const struct writer_style *stacks_style(const struct run *run);

/* Returns the table of processes, from configure() on. */
struct processes *stacks_processes(const struct run *run);

/* Returns the kernel symbol resolver, once started; NULL: none. */
struct kernelnames *stacks_kernelnames(const struct run *run);

/* Returns the value of --stack-storage-size, for other tables keyed by stack. */
uint32_t stacks_entries(const struct run *run);

/* Returns true if --only and --without select the stack, for write_text. */
bool stacks_show(const struct run *run, const char *comm, uint64_t id);

#endif
