/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds interrupts in kernel stacks, by the names of their frames. Code that runs in an interrupt
 * acts for the device or the clock that raised it, not for the interrupted task. The interrupted
 * frames, on the root's side of the interrupt's entry, don't cause what the interrupt does.
 *
 * Softirqs count as interrupts if an interrupt runs them on its way out. Softirqs that a task runs
 * itself (when it enables bottom halves, or in ksoftirqd) are part of what the task does: a packet
 * sent over loopback is received like this.
 */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include <stdbool.h>

/* Returns true for the kernel's interrupt entry functions (x86-64 and arm64, since 5.10). */
bool interrupt_is_entry(const char *name);

/*
 * Returns the cause of an interrupt with a frame of this name: "timer", "net_rx", "ipi", ...; NULL:
 * the name doesn't show it. If several frames have a cause, that of the frame nearest to the leaf
 * is the most exact.
 */
const char *interrupt_cause(const char *name);

#endif
