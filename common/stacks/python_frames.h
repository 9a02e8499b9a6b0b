/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes that run Python, and the layout of their frames, in the map that BPF's walk uses
 * (bpf/runtimes/python.bpf.h). Needs the native walk by tables, which locates each frame.
 */
#ifndef PYTHON_FRAMES_H
#define PYTHON_FRAMES_H

#include <stdbool.h>
#include <sys/types.h>

#include "abi/python.h"
#include "abi/unwind_layout.h"
#include "process/watch.h"
#include "run/run.h"
#include "runtimes/python_remote.h"

/*
 * Before load: returns true if a running process (or a listed target, if there is a list) has a
 * Python before 3.11, which needs further BPF code.
 */
bool python_frames_preload_old(const struct run *run, struct processes *processes,
			       const pid_t *pids, size_t n);

/* Before load, once unwind maps are configured. 0 or -errno, printed. */
int python_frames_configure(struct run *run, const struct python_settings *settings);

struct python_frames;

/* After load; the watch remains the caller's. NULL, printed, if the ring buffer can't be opened. */
struct python_frames *python_frames_new(struct run *run, struct watch *watch,
					const struct python_settings *settings);
void python_frames_free(struct python_frames *frames);

/* Reacts to changed tables of a process (processes.h). */
void python_frames_update(struct python_frames *frames, pid_t pid);

/*
 * Opens the files that a process has mapped since the last time (processes_preload_files()), even
 * if frames is NULL. Returns true if one of them is an interpreter whose frames are walked.
 */
bool python_frames_preload(const struct python_frames *frames, struct processes *processes,
			   pid_t pid);

/*
 * Appends to the n native words of a thread that isn't running those of its Python frames, up to
 * STACK_WORDS in all, if it is still where it was. sps: as in python_remote.h. Returns how many
 * there are now. *reason: how the native walk ended; updated by this walk.
 */
size_t python_frames_walk(const struct python_frames *frames, const struct unwind_thread *thread,
			  const struct python_definer *definer, const uint64_t *sps, size_t n,
			  uint64_t *words, int *reason);

/* The process has ended. */
void python_frames_forget(struct python_frames *frames, pid_t pid);

/* Visits the processes with a layout in BPF; visit may forget them. */
void python_frames_visit(const struct python_frames *frames,
			 bool (*is_wanted)(pid_t pid, void *arg),
			 void (*visit)(pid_t pid, void *arg), void *arg);

/* At the end: reports a Python before 3.11 that started after load, if none was expected. */
void python_frames_print_late(const struct python_frames *frames);

/* Handles a stack that came without Python frames: the offset of thread states may be wrong. */
void python_frames_miss(struct python_frames *frames, pid_t pid);

#endif
