/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module that chooses which page faults are counted, and counts them by the kernel's own events
 * for minor and major ones. Faults that the kernel counted and the programs missed are reported.
 */
#ifndef FAULTEVENTS_H
#define FAULTEVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "run/run.h"

extern const struct module faultevents_module;

/* A tool's declaration. */
struct faultevents_spec {
	/* "stack": stack_minor and stack_major are attached; or "row"; NULL: neither. */
	const char *(*programs)(const struct run *run);
};

bool faults_want_minor(const struct run *run);
bool faults_want_major(const struct run *run);

/* Bit i: faults in areas of kind i (enum area_kind) are wanted. */
uint32_t faults_wanted_kinds(const struct run *run);

/* For a report while tracing: finds out how many faults no program has run for. */
void faults_count_missed(struct run *run);

#endif
