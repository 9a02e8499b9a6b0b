/* SPDX-License-Identifier: GPL-2.0-only */
/* Long waits, printed as they end, with the task that ran before (bpf/abi/runqlat.h). */
#ifndef SLOWWAITS_H
#define SLOWWAITS_H

#include "modules/events.h"

extern const struct events_spec slowwaits_events;

#endif
