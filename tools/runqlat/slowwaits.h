/* SPDX-License-Identifier: GPL-2.0-only */
/* Long waits, printed as they end, with the task that ran before (bpf/abi/runqlat.h). */
#ifndef SLOWWAITS_H
#define SLOWWAITS_H

#include "run/run.h"

/* Prints waits during tracing. */
extern const struct module slowwaits_module;

/* The tool's report(). In JSON, lines about the run precede and follow the waits. */
int slowwaits_report(struct run *run);

#endif
