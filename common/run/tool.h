/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tool is a declaration: options, the modules it uses, and three functions. tool_main() owns its
 * life: parse, open, configure, load, attach, announce, wait, report, close.
 *
 * Functions return 0 or a negative errno, and have printed the reason when they fail.
 */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <bpf/libbpf.h>

#include "abi/call_record.h" /* these name the types in generated skeletons */
#include "abi/hist.h"
#include "abi/loss_counters.h"
#include "abi/stack.h"
#include "abi/unwind_layout.h"
#include "run/opts.h"

enum operands {
	OPERANDS_DURATION, /* [duration] */
	OPERANDS_INTERVAL, /* [interval [count]] */
};

struct loop;
struct sample_period;

/* One run of a tool, as modules and tools see it. */
struct run {
	const struct tool *tool;
	void *skeleton; /* the tool's struct x_bpf */
	struct bpf_object *object;
	struct loop *loop;
	FILE *out;		 /* stdout or --output's file; another one after each report */
	const char *output_path; /* NULL: stdout */
	const char *format;	 /* --format; NULL: not given */
	bool is_json;		 /* the result is to be JSON, as --format or the file's name says */
	char **command;		 /* what stands behind "--"; NULL: nothing */
	pid_t command_pid;	 /* its process, not yet released */
	uint64_t interval_ns;	 /* 0: one report at the end */
	uint64_t start_ns;	 /* CLOCK_MONOTONIC, tracing began */
	uint64_t report_start_ns; /* the current report's window */
	uint64_t end_ns;
	const char *event;		    /* what is sampled, for people; NULL: nothing is */
	const struct sample_period *period; /* NULL: nothing is, or who knows how often */
	uint32_t n_reports;
	bool is_last;	   /* tracing has ended */
	bool is_peek;	   /* SIGUSR1: show what there is, change nothing */
	uint64_t recorded; /* sum of all that was reported, to tell losses by their share */
};

/*
 * What several tools share: a section of --help and hooks into the tool's life, each may be NULL.
 */
struct module {
	const char *title;
	const struct opt *opts;
	bool has_formats; /* its check() sees to run->format; else there are text and json */
	int (*check)(struct run *run);	   /* options, before anything is opened; -EINVAL: usage */
	int (*configure)(struct run *run); /* options to BPF settings, before load */
	int (*start)(struct run *run);	   /* after load, before anything is attached */
	void (*begin)(struct run *run);	   /* the command is held before its first instruction */
	void (*loaded)(struct run *run);   /* ... and at its entry point, with its libraries */
	void (*stop)(struct run *run);	   /* before the last report; also after failures */
	void (*finish)(struct run *run);   /* last words, after the last report */
};

/* The two thunks by which a generated skeleton is opened and freed; see DEFINE_SKELETON. */
struct skeleton {
	void *(*open)(const struct bpf_object_open_opts *opts);
	void (*destroy)(void *skeleton);
};

#define DEFINE_SKELETON(name)                                              \
	static void *open_skeleton(const struct bpf_object_open_opts *how) \
	{                                                                  \
		return name##_bpf__open_opts(how);                         \
	}                                                                  \
	static void destroy_skeleton(void *skeleton)                       \
	{                                                                  \
		name##_bpf__destroy(skeleton);                             \
	}                                                                  \
	static const struct skeleton skeleton = { open_skeleton, destroy_skeleton }

#define TOOL_MAX_MODULES 7
#define TOOL_MAX_LETTERS 4

struct tool {
	const char *name;
	const char *summary;  /* one sentence: the question it answers */
	const char *examples; /* lines of "command  # meaning" */
	const char *unit;     /* what is counted: "samples", "microseconds", "waits" */
	enum operands operands;
	char tid_letter;				 /* of --tid; 0: none */
	struct opt_letter letters[TOOL_MAX_LETTERS + 1]; /* of other options of all tools */
	const struct opt *opts;
	const struct module *modules[TOOL_MAX_MODULES];
	const struct skeleton *skeleton;
	int (*check)(struct run *run); /* like a module's; may be NULL */
	int (*configure)(struct run *run);
	int (*start)(struct run *run);	/* after attaching; may be NULL */
	int (*report)(struct run *run); /* at each interval and at the end */
};

/*
 * Runs a tool: the value is main()'s (0 done, 1 could not do it, 2 asked wrongly). With argc 0 it
 * prints the tool's line in a list of tools, which is how "tracelets" alone asks each of them.
 */
int tool_main(const struct tool *tool, int argc, char **argv);

#endif
