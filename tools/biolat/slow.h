/* SPDX-License-Identifier: GPL-2.0-only */
/* --slower: a line for each request that takes long, right after it. */
#ifndef SLOW_H
#define SLOW_H

#include "run/run.h"

extern const struct module slow_module;

/* The tool's report() with this option. */
int slow_report(struct run *run);

#endif
