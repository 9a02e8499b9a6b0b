/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tool, and one run of it. A tool is a declaration: options, the modules it uses, and a few
 * functions. tool_main() (tool.h) makes a struct run of it, which owns all state.
 *
 * Functions return 0 or a negative errno, and have printed the reason when they fail.
 */
#ifndef RUN_H
#define RUN_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/utsname.h>

#include "run/capture.h"
#include "run/opts.h"

#define RUN_MAX_MODULES 10 /* maximum modules of one tool */

enum operands {
	OPERANDS_DURATION, /* [duration] */
	OPERANDS_INTERVAL, /* [interval [count]] */
};

struct btf;
struct kernelbtf;
struct loop;
struct sample_period;
struct table_format;
struct topview;
struct writer;

/* Losses that BPF doesn't count, and how BPF's losses are printed: see loss.h. */
struct run_losses {
	const char *size_option; /* option that enlarges a full map; NULL: none */
	uint64_t divisor;	 /* BPF's units per unit of the tool; 0: 1 */
	const char *more_text;
	uint64_t more;
	uint64_t missed; /* events for which no BPF program ran */
	/* total losses up to this report, and up to the previous one */
	uint64_t reported, reported_before;
};

/* One run of a tool, for modules and tools. */
struct run {
	const struct tool *tool;
	struct utsname system;

	/* The command line. */
	struct opt_set opts;
	void *options;		 /* the tool's options: its defaults, changed by the command line */
	const char *format;	 /* --format; NULL: not given */
	const char *output_path; /* --output; NULL: standard output */
	uint32_t keep;		 /* maximum number of files; 0: no limit */
	uint64_t keep_bytes;	 /* maximum bytes of retained files; 0: no limit */
	const char *btf_path;	 /* file with the kernel's BTF; NULL: the kernel's own */
	uint64_t interval_ns;	 /* --interval; 0: one report at the end */
	uint64_t duration_ns;	 /* --duration; 0: no limit */
	uint32_t count;		 /* maximum number of reports; 0: no limit */
	bool quiet, verbose, want_help, want_version;
	/* format of numbers, by --format or the output's extension */
	const struct table_format *table_format;
	const struct writer *writer; /* format of stacks; NULL: the report is a table */
	bool is_metrics;	     /* --format prometheus: values count from the start */
	struct capture capture;	     /* --when */
	char **command;		     /* words after "--"; NULL: none */

	void *module_states[RUN_MAX_MODULES]; /* see run_state() */
	void *skeleton;			      /* the tool's struct x_bpf */
	struct bpf_object *object;
	struct object_again *again; /* see object_load_again(); NULL: none */
	struct kernelbtf *kernelbtf;
	struct btf *types;   /* see object_types(); NULL: not loaded yet, or freed */
	int fills_on_demand; /* maps allocate elements on demand; 0: unknown yet, -1: no */
	struct loop *loop;
	pid_t command_pid; /* pid of the command; 0: none */

	FILE *out;	    /* the current report's stream; changes after a report to a file */
	uint32_t n_files;   /* number of streams so far, including this one */
	bool out_is_stream; /* all reports go to one stream; else each gets, or replaces, a file */
	struct topview *view; /* modules/topview.h; NULL: no view */

	uint64_t start_ns;	  /* start of tracing, CLOCK_MONOTONIC */
	uint64_t report_start_ns; /* the current report covers this time to end_ns */
	uint64_t end_ns;
	const char *event;		    /* sampled event, as text; NULL: none */
	const struct sample_period *period; /* NULL: no sampling, or unknown period */
	uint32_t n_reports;		    /* number of reports at intervals so far */
	bool is_last;			    /* tracing has ended */
	/* events are printed as they happen, and a report follows */
	bool prints_lines;
	bool is_peek;	   /* SIGUSR1: report the current data, change nothing */
	uint64_t recorded; /* total of reported values, to print losses as a share */
	struct run_losses losses;
};

/* Initial value of a struct that is copied for each run; value NULL: all zero. */
struct defaults {
	const void *value;
	size_t n_bytes;
};

#define DEFAULTS(variable)                    \
	{                                     \
		&(variable), sizeof(variable) \
	}

#define ZEROES(type)               \
	{                          \
		NULL, sizeof(type) \
	}

/*
 * A part shared by several tools: a section of --help, a struct with its options' values and all
 * other state, and hooks into a tool's run, each may be NULL. If the tool doesn't want the module
 * in a run (struct module_use), only check() and leave_out() are called.
 */
struct module {
	const char *title;
	const struct opt *opts; /* options, members of the state */
	struct defaults state;
	bool has_formats; /* check() handles run->format; else formats are those of tables */
	bool has_metrics; /* the tool's report() supports run->is_metrics */
	int (*check)(struct run *run);	   /* checks options, opens nothing; -EINVAL: usage error */
	int (*configure)(struct run *run); /* sets BPF settings from options, before load */
	int (*leave_out)(struct run *run); /* replaces configure() if the module isn't wanted */
	int (*start)(struct run *run);	   /* after load, before anything is attached */
	int (*attach)(struct run *run);	   /* attaches programs that the skeleton doesn't */
	/* called while the command is stopped before its first instruction */
	void (*begin)(struct run *run);
	void (*loaded)(struct run *run); /* called at its entry point, libraries mapped */
	/* program replaces former, on the module's events: see object_load_again() */
	void (*replace)(struct run *run, const struct bpf_program *former,
			const struct bpf_program *program);
	void (*stop)(struct run *run);	 /* before the last report; also after failures */
	void (*finish)(struct run *run); /* after the last report: frees the struct's contents */
};

/* A module as one tool uses it. */
struct module_use {
	const struct module *module;
	const void *spec; /* the tool's declaration for the module, if it needs one */
	bool (*is_wanted)(const struct run *run); /* wanted by the options; NULL: always */
};

/* The functions that open and free a generated skeleton; see DEFINE_SKELETON. */
struct skeleton {
	void *(*open)(const struct bpf_object_open_opts *opts);
	void (*destroy)(void *skeleton);
};

#define TOOL_MAX_LETTERS 4

struct tool {
	const char *name;
	const char *summary;  /* one sentence: the question that the tool answers */
	const char *examples; /* lines of "  command  # meaning" */
	const char *usual;    /* long names of the ten options that -h prints */
	const char *unit;     /* unit of counts: "samples", "microseconds", "waits" */
	bool sums;	      /* an event has many units: time or bytes */
	enum operands operands;
	char tid_letter; /* letter of --tid; 0: none */
	/* letters of other options common to all tools */
	struct opt_letter letters[TOOL_MAX_LETTERS + 1];
	const struct opt *opts;
	struct defaults options; /* the struct that opts are members of */
	struct module_use modules[RUN_MAX_MODULES + 1];
	const struct skeleton *skeleton;
	int (*check)(struct run *run); /* as a module's check(); may be NULL */
	int (*configure)(struct run *run);
	int (*start)(struct run *run); /* called after attaching; may be NULL */
	/*
	 * Called when a filter matches a new cgroup, and after runtimes were described, so that
	 * waiting threads are walked again; may be NULL.
	 */
	int (*start_more)(struct run *run);
	int (*report)(struct run *run); /* called at each interval and at the end */

	/*
	 * Another declaration, which replaces this one after options are parsed if wants_other()
	 * returns true. It has the same modules in the same order, maybe with other specs. NULL:
	 * none.
	 */
	const struct tool *other;
	bool (*wants_other)(const struct run *run);
};

/* Walks the modules of a run's tool. */
#define for_each_module(use, run) \
	for (const struct module_use *use = (run)->tool->modules; use->module; use++)

/* Makes and frees the structs of the tool and its modules. */
void run_init(struct run *run, const struct tool *tool);
void run_free(struct run *run);

/* After options are parsed: sets run->tool to the other declaration, if wanted. */
void run_choose_tool(struct run *run);

/* Returns the module's struct; NULL if the tool doesn't use it. */
void *run_state(const struct run *run, const struct module *module);

/* Defines a function that returns a module's struct. */
#define DEFINE_STATE(type, name, module)          \
	static type *name(const struct run *run)  \
	{                                         \
		return run_state(run, &(module)); \
	}

/* Returns the tool's declaration for the module; NULL: none. */
const void *run_spec(const struct run *run, const struct module *module);

/* Returns true if the tool uses the module and, once options are checked, wants it in this run. */
bool run_wants(const struct run *run, const struct module *module);

/* Returns true if counts are drained before the end: by an interval, or by SIGUSR1 with metrics. */
static inline bool run_has_turns(const struct run *run)
{
	return run->interval_ns || run->is_metrics;
}

/* Returns true if only the reports around moments get files (--when). */
static inline bool run_captures(const struct run *run)
{
	return run->capture.conditions.n;
}

/* Returns true if each report goes into its own file. */
bool run_makes_series(const struct run *run);

/* Returns true if an option of that long name was given. */
bool run_given(const struct run *run, const char *name);

/*
 * Print an error if one of these options was given, since it has no effect `where` ("with
 * --slower"), in formats of tables other than text, or in metrics. 0 or -EINVAL, printed.
 */
int run_refuse(const struct run *run, const char *const options[], const char *where);
int run_refuse_but_in_text(const struct run *run, const char *const options[]);
int run_refuse_in_metrics(const struct run *run, const char *const options[]);

/* Returns true at the first call, or if run->out changed since the last. *n_begun: initially 0. */
bool run_begins_file(const struct run *run, unsigned int *n_begun);

#endif
