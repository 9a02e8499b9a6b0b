/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions to probe, which do nothing, so that the price of a probe can be measured. */
#ifndef PROBE_SAMPLES_H
#define PROBE_SAMPLES_H

#include "probes/probe_place.h"

/*
 * Each begins with an instruction of that kind: the kind decides the price. Where the architecture
 * has no such kind, or the kernel takes no probe on it, with one that is stepped.
 */
extern void (*const probe_samples[PROBE_KINDS])(void);

#endif
