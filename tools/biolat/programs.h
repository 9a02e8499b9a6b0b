/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "run/run.h"

/* The tool's configure(): BPF's settings, and the programs that the run needs. */
int programs_configure(struct run *run);

#endif
