/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <stdbool.h>

#include "run/run.h"

/*
 * Leaves out the BPF programs that a run doesn't need: those for requests or (is_top) for bios, and
 * all but one or none of those that record the owners of requests: block_io_start's exists since
 * 6.5. 0 or -EINVAL, printed.
 */
int programs_choose(struct run *run, bool is_top, bool has_owners);

#endif
