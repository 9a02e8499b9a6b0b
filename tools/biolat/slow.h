/* SPDX-License-Identifier: GPL-2.0-only */
/* --slower: a line for each slow request, printed when it is completed. */
#ifndef SLOW_H
#define SLOW_H

#include "run/run.h"

extern const struct module slow_module;

/* The tool's report() with this option. Returns 0, or -errno after printing. */
int slow_report(struct run *run);

#endif
