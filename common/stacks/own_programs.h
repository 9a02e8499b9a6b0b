/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel addresses of the BPF programs that the tool has loaded. */
#ifndef OWN_PROGRAMS_H
#define OWN_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "run/run.h"

/*
 * Returns the first addresses of all their functions, as in /proc/kallsyms; freed with free(). *n
 * 0: the kernel interprets them, or hides addresses.
 */
uint64_t *ownprogs_list(const struct run *run, size_t *n);

#endif
