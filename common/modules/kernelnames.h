/* SPDX-License-Identifier: GPL-2.0-only */
/* The loader's part of bpf/lib/ksyms.bpf.h: reads names of kernel addresses from the kernel. */
#ifndef KERNELNAMES_H
#define KERNELNAMES_H

#include <stddef.h>
#include <stdint.h>

#include "run/run.h"

struct kernelnames;
struct ksyms;

/* Before load: includes the iterator in a tool's object, or leaves it out. */
void kernelnames_configure(const struct run *run);
void kernelnames_leave_out(const struct run *run);

/* Opens the iterator once the object is loaded. NULL with errno set. */
struct kernelnames *kernelnames_new(const struct run *run);
void kernelnames_free(struct kernelnames *names);

/*
 * Returns the current symbols of n addresses (in any order; the array is reordered), freed with
 * ksyms_free(). NULL with errno set.
 */
struct ksyms *kernelnames_for(struct kernelnames *names, uint64_t *addrs, size_t n);

#endif
