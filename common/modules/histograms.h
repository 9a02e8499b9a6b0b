/* SPDX-License-Identifier: GPL-2.0-only */
/* Module of histogram tools: tables by key and the report; recording is in bpf/lib/hist.bpf.h. */
#ifndef HISTOGRAMS_H
#define HISTOGRAMS_H

#include <stdbool.h>

#include "output/table.h"
#include "run/run.h"

extern const struct module histograms_module;

#define HIST_TEXT_MAX 128

/* Key of a tool's histograms, such as "pid" in "pid = 1 comm". */
struct hist_grouping {
	const char *key;	  /* name of the key, also as label of metrics */
	const char *const *names; /* texts for key values, by value; NULL: print numbers */
	/*
	 * Returns the text printed for a key value, maybe in buf; NULL: print the number. label:
	 * the name that BPF recorded with the key.
	 */
	const char *(*name_of)(uint64_t id, const char *label, char buf[HIST_TEXT_MAX]);
	/* Returns true if a key's values are also counted under another key. NULL: none are. */
	bool (*is_repeated)(uint64_t id);
	bool with_comm;	   /* BPF's label is a comm, printed after the number */
	bool with_cgroup;  /* keys are cgroup ids: print paths */
	bool by_container; /* keys are cgroup ids: total histograms per container */
};

/* Name and description of a histogram's metric. */
struct histograms_metric {
	const char *name, *help;
};

/* Histograms of one report, by key. */
struct hist_list;

/* A tool's declaration. */
struct histograms_spec {
	struct histograms_metric metric; /* metric of --format prometheus */

	/* Returns the grouping, once options are checked; NULL: one histogram of everything. */
	const struct hist_grouping *(*grouping)(const struct run *run);

	/* Returns the unit if values are not times, else NULL. NULL function: values are times. */
	const struct hist_unit *(*unit)(const struct run *run);

	bool in_interrupts; /* interrupts record values, often several */

	/* Adds conclusions from the histograms by key to a report. NULL: none. */
	void (*conclude)(struct run *run, struct table_output *to, const struct hist_list *list);
};

/* For conclude(): return a key's histogram (NULL: empty), and the unit of histograms. */
const struct hist *histograms_of_key(const struct hist_list *list, uint64_t id);
const struct hist_unit *histograms_unit(const struct run *run);

/* Call run_refuse(): for --milliseconds and --nanoseconds; for --timestamp and --entries. */
int histograms_refuse_units(const struct run *run, const char *where);
int histograms_refuse(const struct run *run, const char *where);

/* For other tables by key: return --entries, and print the time of day if -T was given. */
uint32_t histograms_entries(const struct run *run);
void histograms_print_time(const struct run *run);

/*
 * For tools with one more histogram: configures it, in microseconds, or leaves it out; adds its
 * values since the start to `all`. 0 or -errno, printed.
 */
int histograms_configure_all(const struct run *run, bool is_wanted);
int histograms_read_all(const struct run *run, struct hist *all);

/* The report() of every histogram tool. */
int histograms_report(struct run *run);

#endif
