/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often the traced functions are called, and what that costs who is traced: the price of a
 * probe is measured on a function of our own, the time in BPF by the kernel, over the first
 * moments.
 */
#ifndef LEAKRATE_H
#define LEAKRATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/tool.h"

/*
 * Measures the price of a probe. User mode only: pids whose CPU time is what the cost is held
 * against.
 */
void leakrate_calibrate(void);
void leakrate_watch_pid(pid_t pid);

/* Begins; ends the tracing with a message above that many calls per second, if it isn't 0. */
int leakrate_start(struct run *run, uint32_t max_rate);

/* "N calls (M per second), about X us each: ..." */
void leakrate_print(const struct run *run);
void leakrate_finish(void);

#endif
