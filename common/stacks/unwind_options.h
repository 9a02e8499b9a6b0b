/* SPDX-License-Identifier: GPL-2.0-only */
/* The options that say how user stacks are walked. */
#ifndef UNWIND_OPTIONS_H
#define UNWIND_OPTIONS_H

#include <stdint.h>

#include "run/run.h"

struct unwind_options {
	const char *method; /* cfi, fp or auto, which is also NULL */
	uint64_t mem_bytes; /* for tables */
};

/* The stacks module does the rest. */
extern const struct module unwind_module;

const struct unwind_options *unwind_options_of(const struct run *run);

#endif
