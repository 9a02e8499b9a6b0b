/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of a managed runtime: a row in runtimes.c, and, if its frames are walked, a struct
 * runtime_code in a folder of its own. Its code reads files and memory of traced programs, which
 * are hostile: every read is checked and bounded.
 */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/runtimes.h"
#include "abi/unwind_rule.h"
#include "base/hashtable.h"
#include "base/rate_limit.h"
#include "elf/elf64.h"

/* A file of a runtime, found by recognize(); allocated together with the runtime's own data. */
struct runtime_file {
	const struct runtime_code *code;
	enum runtime_kind kind;
	const char *refused; /* reason why its frames can't be walked; NULL: they can */
	char title[24];	     /* name and version */
};

/* A process that has mapped a runtime's file. */
struct runtime_instance {
	pid_t pid;
	struct runtime_file *file;
	uint64_t bias;		  /* load address of the file in the process */
	uint32_t thread_bytes;	  /* size of the C library's struct pthread; 0: unknown */
	bool lines;		  /* lines are requested */
	void *state;		  /* the runtime's own data, see release(); NULL: none */
	struct rate_limit effort; /* CPU time for resolve(), ns */
	bool is_slow;		  /* the limit was exceeded, and reported */
};

#define RUNTIME_THREAD_BYTES 4096 /* upper limit of thread_bytes */

struct meanings;

/* A function of managed code, shared by processes. */
struct runtime_function {
	struct hashlink link;
	struct meanings *meanings;
	unsigned int n_users; /* number of words that refer to the function, and of other users */
	const struct runtime_code *code;
	char *name;	     /* qualified name, or its beginning if long: "Thread.run" */
	char *file;	     /* path, or its end if long; NULL: unknown */
	uint32_t first_line; /* data for resolve(): this member and the following ones */
	uint32_t lines_kind;
	size_t n_lines;
	uint8_t lines[]; /* empty if lines are not requested */
};

/* Position of a frame in its function. */
struct runtime_position {
	uint64_t word;	/* word of the function */
	uint64_t pc;	/* address of the native frame that it replaces; 0: none */
	bool is_return; /* pc is a return address */
	bool is_made;	/* pc is in generated code, in memory without a file */
	bool has_index; /* BPF has recorded index, which is the runtime's own */
	uint64_t index;
};

/* One of the functions that a frame runs: its own, or one that is inlined into it. */
struct runtime_call {
	struct runtime_function *function; /* NULL: the frame's own; else a new one, taken over */
	uint32_t line;			   /* 0: unknown, or not requested */
};

#define RUNTIME_MAX_CALLS 64 /* maximum number of calls in a frame */

#define RUNTIME_UNKNOWN "[unknown]" /* name of a function, or of inlined ones, if not found */

/* Callback that receives the meaning of a function's word. */
struct runtime_definer {
	void (*define)(const struct runtime_def *def, size_t size, void *arg);
	void *arg;
};

/* Callback that receives unwind rules of code made at run time, in ascending order. */
struct runtime_rows {
	void (*add)(uint64_t address, const struct unwind_rule *rule, void *arg);
	void *arg;
};

/* A thread that isn't running. */
struct runtime_thread {
	pid_t tid; /* thread id; its memory is read */
	uint32_t tgid;
	uint64_t base; /* thread pointer */
	struct runtime_process process;
	bool lines;
	bool is_complete;	   /* the native walk reached the outermost frame */
	const uint64_t *sps, *bps; /* stack address and frame pointer of each native frame */
	const uint32_t *framed;	   /* a bit per native frame: left by its frame pointer, no rule */
	size_t n_native;
	struct runtime_definer definer;
};

struct unwind_view;
struct unwind_state;
struct unwind_leaving;

struct runtime_code {
	uint32_t kinds; /* RUNTIME_BIT()s */

	/*
	 * Recognizes a file of the runtime by its exported symbols, never by its name, with a few
	 * small reads. NULL: another file. Freed with free().
	 */
	struct runtime_file *(*recognize)(const struct elf64 *elf);

	/*
	 * Fills in the layout of a process for BPF; look_again() finds details that are still
	 * missing. -EAGAIN: the process is still starting; describe() is called again when its
	 * mappings change.
	 */
	int (*describe)(const struct runtime_instance *instance, struct runtime_process *process);

	/*
	 * Searches for missing or wrong details, after a stack without functions, or one that can't
	 * be walked. Returns true if the layout, or what add_rows() adds, may have changed.
	 * *is_settled: the search need not be repeated for some time. NULL: the layout is complete.
	 */
	bool (*look_again)(struct runtime_instance *instance, struct runtime_process *process,
			   bool *is_settled);

	/* Adds the rules of the process's code that has a table; NULL: there is no such code. */
	void (*add_rows)(const struct runtime_instance *instance,
			 const struct runtime_process *process, const struct runtime_rows *rows);

	/* Converts a definition of size bytes to a function without users; NULL: malformed. */
	struct runtime_function *(*read)(const struct runtime_def *def, size_t size);

	/*
	 * Fills in the functions that a frame runs, innermost first; the last one is the function
	 * that owns the frame. Returns their number; 0: unknown. Called when the stack arrives,
	 * soon after its sample. instance NULL: the process has exited, or executes another
	 * program.
	 */
	size_t (*resolve)(struct runtime_instance *instance,
			  const struct runtime_function *function,
			  const struct runtime_position *position,
			  struct runtime_call calls[RUNTIME_MAX_CALLS]);

	/* Frees the state of a process that has exited; NULL: nothing to free. */
	void (*release)(struct runtime_instance *instance);

	/*
	 * Moves the loader's walk from a frame of generated code to its caller. Returns
	 * UNWIND_GOES_ON, the reason why the walk ends, or UNWIND_NO_RULE: other code. NULL:
	 * generated code has rules, or frame pointers.
	 */
	int (*leave)(const struct unwind_view *view, struct unwind_state *s,
		     struct unwind_leaving *leaving);

	/*
	 * Walks another process's frames as BPF does: defines the functions, and appends their
	 * words to the n_native words of the stack, up to max words in total. Returns the new
	 * number of words. *is_cut: outer frames did not fit.
	 */
	size_t (*walk)(const struct runtime_thread *thread, uint64_t *words, size_t max,
		       bool *is_cut);
};

/* A managed runtime. In its advice to the user, "PID" stands for the pid of the process. */
struct runtime {
	const char *name;
	const char *const *files; /* base names that identify the runtime, then NULL */
	/* advice for complete JIT stacks; NULL: impossible */
	const char *to_complete;
	const char *to_name;		 /* advice for names of JIT code; NULL: impossible */
	const struct runtime_code *code; /* functions that walk its frames; NULL: not supported */
	const char *interpreter;	 /* native function that its frames replace; NULL: none */
};

#endif
