/* SPDX-License-Identifier: GPL-2.0-only */
/* The loader's part of bpf/lib/ksyms.bpf.h: asks the kernel for the symbols of kernel addresses. */
#ifndef KERNELNAMES_H
#define KERNELNAMES_H

#include <stddef.h>
#include <stdint.h>

#include "run/run.h"

struct kernelnames;
struct ksyms;

/* Before load: configure the iterator of a tool's object, or leave it out. */
void kernelnames_configure(const struct run *run);
void kernelnames_leave_out(const struct run *run);

/* Opens the iterator after the object is loaded. NULL: failed, errno set. */
struct kernelnames *kernelnames_new(const struct run *run);
void kernelnames_free(struct kernelnames *names);

/*
 * Returns the current symbols of n addresses in any order, freed with ksyms_free(); reorders the
 * array. NULL: failed, errno set.
 */
struct ksyms *kernelnames_for(struct kernelnames *names, uint64_t *addrs, size_t n);

#endif
