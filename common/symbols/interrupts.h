/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts in kernel stacks, by the names of their frames. Code that runs in an interrupt acts
 * for the device or the clock that raised it, not for the task that happened to run. The frames on
 * the root's side of the entry, the interrupted ones, don't cause what the interrupt does.
 *
 * Softirqs count where an interrupt runs them on its way out. Those that a task runs itself (when
 * it enables bottom halves, or in ksoftirqd) are part of what the task does: a packet sent over
 * loopback is received so.
 */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include <stdbool.h>

/* The function through which the kernel is entered for an interrupt (x86-64 and arm64, 5.10 on). */
bool interrupt_is_entry(const char *name);

/*
 * Returns the cause of an interrupt with such a frame: "timer", "net_rx", "ipi", ...; NULL: the
 * name doesn't show it. If several frames have one, the one next to the leaf is the most exact.
 */
const char *interrupt_cause(const char *name);

#endif
