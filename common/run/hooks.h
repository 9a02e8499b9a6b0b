/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls the hooks of all modules that are wanted in a run, in the order in which the tool has them.
 */
#ifndef HOOKS_H
#define HOOKS_H

#include "run/run.h"

/* Up to the first failure: 0 or -errno, printed. Those not wanted are left out. */
int hooks_configure(struct run *run);
int hooks_start(struct run *run);
int hooks_attach(struct run *run);

void hooks_begin(struct run *run);
void hooks_loaded(struct run *run);
void hooks_stop(struct run *run);
void hooks_finish(struct run *run);

#endif
