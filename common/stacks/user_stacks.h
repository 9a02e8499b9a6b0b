/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Complete user stacks for stack tools: unwind tables of every file that traced processes execute,
 * and the processes' mappings, in BPF maps (unwind_maps.h); fork, exec, dlopen and exit are
 * followed. The stacks module has one of these.
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

/*
 * Before load. wanted: user stacks are taken. hits_few: most short processes have no stack, so a
 * new process gets tables with its first one. runtimes: kinds to show, if supported. NULL, printed,
 * if the object can't be configured.
 */
struct user_stacks *user_stacks_new(struct run *run, bool wanted, bool hits_few,
				    const struct runtime_settings *runtimes);
void user_stacks_free(struct user_stacks *us);

/* After load: looks at all processes of interest. 0 or -errno, printed. */
int user_stacks_start(struct user_stacks *us);

/* The command is held: waits until all its tables are there. */
void user_stacks_learn_command(struct user_stacks *us);

/* Returns true if some files have no tables because memory for them ran out. */
bool user_stacks_lack_tables(const struct user_stacks *us);

/*
 * Returns the watch over processes, for subscribers; the first call opens it, also before load.
 * NULL: it can't be opened, which was printed.
 */
struct watch *user_stacks_watch(struct user_stacks *us);

/* Returns the table of processes; without a watch, one that no events are fed to. */
struct processes *user_stacks_processes(struct user_stacks *us);

/* Rescans a process after a stack that lacked tables. */
void user_stacks_learn(struct user_stacks *us, pid_t pid);

/*
 * A process has a perf map, open as map_fd: from now on its stacks' ids depend on the map's size
 * (struct dso_options, arg is the user_stacks).
 */
void user_stacks_take_perf_map(pid_t pid, int map_fd, void *arg);

/* Handles a stack that lacked functions of a runtime. */
void user_stacks_miss_functions(struct user_stacks *us, pid_t pid);

/* At the end: reports a runtime that started too late for its functions to be shown. */
void user_stacks_print_late(const struct user_stacks *us);

/* Reads the events of processes that there are now: in the middle of long work. */
void user_stacks_catch_up(struct user_stacks *us);

/*
 * Walks the stack of a thread that was off CPU before tracing began, by the same tables. Writes at
 * most STACK_WORDS words of a stack_def, leaf first, and how the walk ended (enum unwind_reason);
 * passes meanings of functions to define() before. Returns the number of words, at least 1: only
 * the leaf if the thread has continued meanwhile.
 */
size_t user_stacks_walk_thread(struct user_stacks *us, const struct unwind_thread *thread,
			       const struct runtime_definer *definer, uint64_t *words, int *reason);

/*
 * Copies the stack of such a thread, whose process has no tables yet: making them takes a while, in
 * which the thread may go on. NULL: it has them, or the thread has. Free with free().
 */
struct unwind_copy *user_stacks_copy_thread(struct user_stacks *us,
					    const struct unwind_thread *thread);

/* Returns true if BPF copies stacks that it can't walk yet: with tables only. Known before load. */
bool user_stacks_makes_copies(const struct user_stacks *us);

/*
 * Walks a stack that BPF has copied, as user_stacks_walk_thread(). Updates the state of its process
 * if need be.
 */
size_t user_stacks_walk_copy(struct user_stacks *us, const struct unwind_copy *copy,
			     uint64_t *words, size_t max, int *reason);

#endif
