/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module that says which page faults are counted, and that counts them by the kernel's own
 * events for minor and major ones. What the kernel counted and the programs did not see is told.
 */
#ifndef FAULTEVENTS_H
#define FAULTEVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "run/tool.h"

extern const struct module faultevents_module;

bool faults_want_minor(void);
bool faults_want_major(void);

/* Bit i: faults in areas of kind i (enum area_kind) are wanted. */
uint32_t faults_wanted_kinds(void);

/* Attaches the programs of that name and "_minor" or "_major" to the events of all CPUs. */
int faultevents_attach(struct run *run, const char *name);

#endif
