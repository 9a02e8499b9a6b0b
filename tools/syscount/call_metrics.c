// SPDX-License-Identifier: GPL-2.0-only
/* Counted calls as metrics; see call_metrics.h. */
#include <string.h>

#include "modules/exposition.h"
#include "syscount/call_metrics.h"
#include "syscount/errnames.h"
#include "syscount/syscalls.h"

static size_t list_labels(const struct call_layout *layout, const char **labels)
{
	size_t n = 0;

	if (layout->by_process) {
		labels[n++] = "pid";
		labels[n++] = "comm";
	}
	if (layout->by_call)
		labels[n++] = "call";
	if (layout->by_error)
		labels[n++] = "error";
	return n;
}

static void define(struct call_metrics *metrics, const struct call_layout *layout)
{
	metrics->calls = (struct metric){
		.name = layout->by_error ? "tracelets_syscount_failures_total"
					 : "tracelets_syscount_calls_total",
		.help = layout->by_error ? "System calls that failed, by error."
					 : "System calls that returned.",
	};
	metrics->seconds = (struct metric){
		.name = "tracelets_syscount_seconds",
		.help = "Time that system calls took.",
		.kind = METRIC_HISTOGRAM,
	};
	list_labels(layout, metrics->calls.labels);
	list_labels(layout, metrics->seconds.labels);
}

struct adding {
	struct run *run;
	struct call_metrics *metrics;
	const struct call_layout *layout;
};

static void add_row(const struct call_row *row, void *arg)
{
	const struct adding *to = arg;
	const struct call_layout *layout = to->layout;
	char pid[16], comm[TASK_COMM_LEN + 1] = "", call[64], error[64];
	const char *values[PROMETHEUS_MAX_LABELS];
	size_t n = 0;

	if (layout->by_process) {
		snprintf(pid, sizeof(pid), "%u", row->key->tgid);
		calltable_comm(layout, row->key->tgid, comm);
		values[n++] = pid;
		values[n++] = comm;
	}
	if (layout->by_call)
		values[n++] = syscall_label(call, sizeof(call), row->key->abi, row->key->number);
	if (layout->by_error)
		values[n++] = errname_label(error, sizeof(error), row->key->error);
	metrics_add(exposition_metrics(to->run), &to->metrics->calls, values, row->calls,
		    to->run->end_ns);
	if (row->hist)
		metrics_add_hist(exposition_metrics(to->run), &to->metrics->seconds, values,
				 row->hist, to->run->end_ns);
}

void call_metrics_report(struct run *run, struct call_metrics *metrics,
			 const struct call_layout *layout, struct calltable *table)
{
	struct adding to = { run, metrics, layout };

	define(metrics, layout);
	calltable_visit(table, add_row, &to);
	exposition_write(run);
}
