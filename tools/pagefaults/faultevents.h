/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Selects page faults, and counts them by the kernel's events for minor and major faults. Reports
 * faults that the kernel counted and the programs missed.
 */
#ifndef FAULTEVENTS_H
#define FAULTEVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "run/run.h"

extern const struct module faultevents_module;

/* A tool's declaration. */
struct faultevents_spec {
	/* Returns "stack" to attach stack_minor and stack_major, "row" for rows; NULL: neither. */
	const char *(*programs)(const struct run *run);
};

bool faults_want_minor(const struct run *run);
bool faults_want_major(const struct run *run);

/* Returns the wanted kinds of areas: bit i for kind i (enum area_kind). */
uint32_t faults_wanted_kinds(const struct run *run);

/* Updates the number of faults that no program saw, for a report while tracing. */
void faults_count_missed(struct run *run);

#endif
