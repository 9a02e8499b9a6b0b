/* SPDX-License-Identifier: GPL-2.0-only */
/* What could not be recorded in the kernel (bpf/abi/loss_counters.h), told at the end of a run. */
#ifndef COMMON_LOSS_H
#define COMMON_LOSS_H

#include <stdint.h>

#include "run/tool.h"

/* The option that makes a full map larger; named in the hint. NULL: there is none. */
void loss_set_hint(const char *option);

/* How many of what the BPF side adds up make one of the tool's units; 1 if nothing is said. */
void loss_set_divisor(uint64_t value);

/* Adds what was counted in the kernel but could not be shown: `what` ("without their stack"). */
void loss_add(const char *what, uint64_t value);

/* How much is missing from what was recorded, in the tool's unit. */
uint64_t loss_value(const struct run *run);

/* Prints every loss with its share of all that was seen. Nothing where nothing was lost. */
void loss_print(const struct run *run);

#endif
