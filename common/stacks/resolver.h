/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The resolver: converts definitions of stacks (bpf/abi/stack.h), as received from the ring buffer,
 * into frames with names. It retains a definition, by id, as long as BPF may count under that id.
 * It locates user addresses at once, while the process is alive, and looks up symbols on demand.
 * Counts refer to interned stacks (locations in files), which are shared by processes that run the
 * same code, and are released at the end of a report. The other caches age by one clock (epoch.h),
 * which resolver_tick() drives.
 */
#ifndef RESOLVER_H
#define RESOLVER_H

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
#include "symbols/dso.h"

/*
 * Flaw of a user stack: callers or names are missing, because of generated code or of code without
 * unwind information.
 */
struct stack_flaw {
	enum {
		FLAW_NONE,
		FLAW_CUT,     /* outermost frames are missing */
		FLAW_UNNAMED, /* complete, but with unnamed code */
	} kind;
	const struct runtime *runtime; /* runtime of the generated code; NULL: none, or unknown */
	bool has_names;		       /* all JIT code in the stack has a perf map */
	const char *file;	       /* file without unwind information; NULL: JIT code */
	int err;		       /* negative errno: the file could not be opened */
};

/* Returns the number of native words of a stack, which precede runtimes' (abi/runtime.h). */
uint32_t stack_count_native(const struct stack_def *def);

struct kernelnames;
struct resolver;

struct resolver_options {
	struct dso_options symbols; /* places: frames also carry their address */

	/* kernel symbol resolver, borrowed; NULL: addresses are shown, the caller has warned */
	struct kernelnames *kernelnames;

	/*
	 * true: BPF retains stack ids and counts under them at the end of a window; false: it
	 * counts at each event
	 */
	bool by_window;

	/* returns the runtime of a process, called with arg; NULL: none */
	struct runtime_instance *(*find_runtime)(pid_t pid, void *arg);
	void *arg; /* NULL: no runtimes are walked */
};

/* Creates a resolver. processes: borrowed, must outlive it. options NULL: all off. */
struct resolver *resolver_new(struct processes *processes, const struct resolver_options *options);
void resolver_free(struct resolver *resolver);

/*
 * Sets the addresses of the tracer's own BPF programs, which are removed from stacks (taken over,
 * freed with free()). n 0, as before the first call: all BPF programs are removed.
 */
void resolver_set_own(struct resolver *resolver, uint64_t *programs, size_t n);

/* Adds a stack's definition, a record of size bytes. A known id changes nothing. */
void resolver_add(struct resolver *resolver, const struct stack_def *def, size_t size);

/* Adds the function that a word stands for, before the first stack that contains the word. */
void resolver_add_function(struct resolver *resolver, const struct runtime_def *def, size_t size);

/* Announces a process whose stacks may arrive after its exit: see usyms_preload(). */
void resolver_preload(struct resolver *resolver, pid_t pid, uint32_t generation);

/*
 * Looks up all new addresses before a report: user addresses file by file, so that each file's
 * symbols are loaded once even if not all fit into memory (dso.h), and kernel addresses together.
 * Calls meanwhile(arg), which may add definitions, between files.
 */
void resolver_look_up(struct resolver *resolver, void (*meanwhile)(void *arg), void *arg);

/* Returns the memory that symbol tables use, and the number of evictions. */
struct dso_stats resolver_stats(const struct resolver *resolver);

/* Releases a process that has exited, once everything sent for it has been read. */
void resolver_process_ended(struct resolver *resolver, pid_t pid);

/* Returns the id of a stack's interned stack; id itself if its definition is unknown. */
uint64_t resolver_fold(struct resolver *resolver, uint64_t id);

/* Marks an id as in use: BPF has counted under it, or still has it. */
void resolver_use(struct resolver *resolver, uint64_t id);

/*
 * Releases definitions that counts no longer refer to, and passes their ids to forgotten(), so that
 * BPF sends them again if they recur. Called when all counts up to now have been drained, for a
 * report or before it, and their ids folded.
 */
void resolver_drained(struct resolver *resolver, bool is_report,
		      void (*forgotten)(uint64_t id, void *arg), void *arg);

/*
 * Releases cached files, symbols and names that were not used for two epochs (epoch.h). Called
 * every few seconds. Files that no process maps are closed after resolving their names.
 */
void resolver_tick(struct resolver *resolver, uint64_t now_ns);

/*
 * Retains the interned stack of an id from resolver_fold(), and the two of a waker, through the
 * next release.
 */
void resolver_retain(const struct resolver *resolver, uint64_t id);

/*
 * Releases interned stacks that have no definition and were not retained; their ids become invalid.
 */
void resolver_release_stacks(struct resolver *resolver);

/* Ends a report, and releases interned stacks. */
void resolver_end_report(struct resolver *resolver, uint64_t now_ns);

/*
 * Returns the frames of a stack, by its own or the interned stack's id, root first. They belong to
 * resolver_frame_table(); the list is valid until the next call. NULL with *n 0: the definition
 * never arrived, or the id is a waker's, which has two stacks: see resolver_about().
 */
const struct frame *const *resolver_frames(struct resolver *resolver, uint64_t id, size_t *n);

/* Returns the table of all stacks' frames, valid until the report ends. */
struct frame_table *resolver_frame_table(struct resolver *resolver);

/* Facts about a stack besides its frames, valid as long as its frames. */
struct resolved {
	int reason; /* how the walk ended; UNWIND_GOES_ON: unknown, or no user stack */
	const struct stack_flaw *flaw; /* NULL: unknown, or not a user stack */
	const uint64_t *waker; /* a waker's words: user stack, kernel stack, comm; or NULL */
};

struct resolved resolver_about(const struct resolver *resolver, uint64_t id);

#endif
