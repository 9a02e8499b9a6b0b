/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports of live blocks: as stacks with bytes for the writers, or as BCC's memleak prints them.
 * Blocks that a process held when it executed another program are left out, and those of one that
 * has ended are in one more report.
 */
#ifndef LEAKREPORT_H
#define LEAKREPORT_H

#include "run/bpfmap.h"
#include "run/tool.h"

/* After load: maps the table of blocks. 0 or -errno, printed. */
int leakreport_start(struct run *run);

/* For struct stacks_source. */
int leakreport_read(struct run *run, map_visit_fn *visit, void *arg);
void leakreport_write_text(struct run *run);

void leakreport_finish(void);

#endif
