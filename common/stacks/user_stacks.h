/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Complete user stacks for stack tools: unwind tables of every file that traced processes execute,
 * and the processes' mappings, in BPF maps (unwind_maps.h); fork, exec, dlopen and exit are
 * followed. Owned by the stacks module.
 */
#ifndef USER_STACKS_H
#define USER_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/unwind_layout.h"
#include "process/watch.h"
#include "run/run.h"
#include "runtimes/runtime.h"

struct user_stacks;

struct user_stacks_options {
	bool wanted;   /* user stacks are walked */
	bool hits_few; /* most short processes have no stack: tables wait for the first one */
	bool runtimes; /* functions of managed runtimes are shown */
	bool lines;    /* lines of managed functions are requested */
	const char *const *walkers; /* see struct stacks_spec, also for keeps_programs */
	bool keeps_programs;
};

/*
 * Configures walks of user stacks, before load. NULL, printed, if the object can't be configured.
 */
struct user_stacks *user_stacks_new(struct run *run, const struct user_stacks_options *options);
void user_stacks_free(struct user_stacks *us);

/* Reads the mappings of all processes of interest, after load. Returns 0 or -errno, printed. */
int user_stacks_start(struct user_stacks *us);

/* Waits until BPF has all tables of the command, which is held meanwhile. */
void user_stacks_learn_command(struct user_stacks *us);

/* Returns true if some files have no tables because memory for them ran out. */
bool user_stacks_lack_tables(const struct user_stacks *us);

/*
 * Returns the watch over processes, for subscribers; the first call opens it, also before load.
 * NULL: it can't be opened, which was printed.
 */
struct watch *user_stacks_watch(struct user_stacks *us);

/* Returns the table of processes; without a watch, one that receives no events. */
struct processes *user_stacks_processes(struct user_stacks *us);

/* Rescans a process after a stack that lacked tables. */
void user_stacks_learn(struct user_stacks *us, pid_t pid);

/*
 * Notes that a process has a perf map, open as map_fd: from now on its stack ids depend on the
 * map's size (found_map() of struct dso_options; arg: the user_stacks).
 */
void user_stacks_take_perf_map(pid_t pid, int map_fd, void *arg);

/* Returns a process's runtime; NULL: none (find_runtime() of struct resolver_options). */
struct runtime_instance *user_stacks_find_runtime(pid_t pid, void *user_stacks);

/* Handles a stack that shows that a runtime's layout may be wrong; see runtime_frames_miss(). */
void user_stacks_miss_functions(struct user_stacks *us, pid_t pid, bool has_functions);

/* See runtime_frames_take_described(). */
bool user_stacks_take_described(struct user_stacks *us);

/* Reports, at the end of a run, a runtime that started too late for its functions to be shown. */
void user_stacks_print_late(const struct user_stacks *us);

/* Reads pending process events, in the middle of long work. */
void user_stacks_catch_up(struct user_stacks *us);

/*
 * Walks the stack of a thread that was off CPU before tracing began, by the same tables. Writes at
 * most STACK_WORDS words of a stack_def, leaf first, and how the walk ended (enum unwind_reason);
 * first passes meanings of functions to define(). Returns the number of words, at least 1: only the
 * leaf if the thread has run meanwhile.
 */
size_t user_stacks_walk_thread(struct user_stacks *us, const struct unwind_thread *thread,
			       const struct runtime_definer *definer, uint64_t *words, int *reason);

/*
 * Copies the stack of a thread that was off CPU and whose process has no tables yet: the thread may
 * run while tables are made. NULL: the process has tables, or the thread has run. Freed with
 * free().
 */
struct unwind_copy *user_stacks_copy_thread(struct user_stacks *us,
					    const struct unwind_thread *thread);

/* Returns true if BPF copies stacks that it can't walk yet (with tables only), even before load. */
bool user_stacks_makes_copies(const struct user_stacks *us);

/*
 * Walks a stack that BPF has copied; results as in user_stacks_walk_thread(), at most max words.
 * Updates the tables of its process if necessary.
 */
size_t user_stacks_walk_copy(struct user_stacks *us, const struct unwind_copy *copy,
			     uint64_t *words, size_t max, int *reason);

#endif
