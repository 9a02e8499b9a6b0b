/* SPDX-License-Identifier: GPL-2.0-only */
/* Names the locks that BPF counts, and reports them as a table and as stacks. */
#ifndef LOCK_REPORT_H
#define LOCK_REPORT_H

#include "run/run.h"
#include "stacks/stacks_spec.h"

/* Must follow stacks_module. */
extern const struct module lock_report_module;

/* Waits as stacks with the lock at the root, and as a table. */
extern const struct stacks_source lock_source;

#endif
