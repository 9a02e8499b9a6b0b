/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes with a managed runtime, and the layouts of their frames, in a map for BPF's walk
 * (bpf/runtimes/runtimes.bpf.h). Needs walks by unwind tables, which locate each native frame.
 */
#ifndef RUNTIME_FRAMES_H
#define RUNTIME_FRAMES_H

#include <stdbool.h>
#include <sys/types.h>

#include "abi/unwind_layout.h"
#include "process/watch.h"
#include "run/run.h"
#include "runtimes/runtime.h"
#include "unwind/unwind_remote.h"

/*
 * Returns the kinds of runtimes, as bits, in the n running processes, or in the targets, if the
 * user listed any. Called before load.
 */
uint32_t runtime_frames_find_kinds(const struct run *run, struct processes *processes,
				   const pid_t *pids, size_t n);

/*
 * Sizes the maps before load, once unwind maps are configured; leaves them out if not watched.
 * Returns 0 or -errno, printed.
 */
int runtime_frames_configure(struct run *run, const struct runtime_settings *settings);

struct runtime_frames;

/*
 * Opens the frames after load. watch, tables: borrowed. walkers: programs that are loaded again for
 * a process of another kind, unless keeps_programs, see struct stacks_spec. NULL, printed: no ring
 * buffer.
 */
struct runtime_frames *runtime_frames_new(struct run *run, struct watch *watch,
					  struct unwind_tables *tables,
					  const struct runtime_settings *settings,
					  const char *const *walkers, bool keeps_programs);
void runtime_frames_free(struct runtime_frames *frames);

/*
 * Returns a process's runtime; NULL: none. Valid until runtime_frames_forget() or _update() is
 * called for it.
 */
struct runtime_instance *runtime_frames_find(struct runtime_frames *frames, pid_t pid);

/*
 * Updates the layout of a process after its published mappings have changed (processes.h). Returns
 * false if it has to be called again after the attach: BPF lacks the code of the process's runtime.
 */
bool runtime_frames_update(struct runtime_frames *frames, pid_t pid);

/*
 * Opens the files that a process has mapped since the last call (processes_preload_files()), also
 * if frames is NULL. Returns true if one of them is a runtime whose frames are walked.
 */
bool runtime_frames_preload(const struct runtime_frames *frames, struct processes *processes,
			    pid_t pid);

/*
 * Walks the functions of a thread that isn't running: appends their words to its n native words, up
 * to STACK_WORDS in total. Returns the new number of words. *reason: how the native walk ended; set
 * to UNWIND_DEPTH if it was complete and outer functions did not fit.
 */
size_t runtime_frames_append(const struct runtime_process *process, bool lines,
			     const struct unwind_thread *thread,
			     const struct runtime_definer *definer,
			     const struct native_frames *native, size_t n, uint64_t *words,
			     int *reason);

/* Appends, by the layout in BPF, unless the thread has run meanwhile. */
size_t runtime_frames_walk(const struct runtime_frames *frames, const struct unwind_thread *thread,
			   const struct runtime_definer *definer,
			   const struct native_frames *native, size_t n, uint64_t *words,
			   int *reason);

/* Reads the layout of a process from BPF, where a forked one has a copy. False: none. */
bool runtime_frames_read(const struct runtime_frames *frames, pid_t pid,
			 struct runtime_process *process);

/*
 * Returns true if processes were described since the last call, and after tracing began: stacks of
 * their waiting threads may lack functions.
 */
bool runtime_frames_take_described(struct runtime_frames *frames);

/* Drops a process that has exited. */
void runtime_frames_forget(struct runtime_frames *frames, pid_t pid);

/* Visits the processes with a layout in BPF; visit() may call runtime_frames_forget(). */
void runtime_frames_visit(const struct runtime_frames *frames,
			  bool (*is_wanted)(pid_t pid, void *arg),
			  void (*visit)(pid_t pid, void *arg), void *arg);

/* Reports, at the end of a run, a runtime that started too late for its code to be loaded. */
void runtime_frames_print_late(const struct runtime_frames *frames);

/* Searches for missing layout details, after a stack that is cut, or without functions. */
void runtime_frames_miss(struct runtime_frames *frames, pid_t pid, bool has_functions);

#endif
