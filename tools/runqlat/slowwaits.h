/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits that took long, one by one as they end, and who ran meanwhile (bpf/abi/runqlat.h). */
#ifndef SLOWWAITS_H
#define SLOWWAITS_H

#include "run/run.h"

/* Prints the waits while the tracing goes on. */
extern const struct module slowwaits_module;

/* The tool's report(). In JSON, lines about the run surround the waits. */
int slowwaits_report(struct run *run);

#endif
