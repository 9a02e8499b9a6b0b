/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols of the kernel for reports: /proc/kallsyms is copied ahead, in the background, and read again
 * only for what may have changed since.
 */
#ifndef KERNELNAMES_H
#define KERNELNAMES_H

#include <stddef.h>
#include <stdint.h>

struct background;
struct kernelnames;
struct ksyms;

struct kernelnames *kernelnames_new(struct background *background);

/* From other files than /proc/kallsyms and /proc/modules; their paths stay the caller's. */
struct kernelnames *kernelnames_from(struct background *background, const char *kallsyms_path,
				     const char *modules_path);

/* Free the background first. */
void kernelnames_free(struct kernelnames *names);

/* There are kernel addresses: begins to copy, the first time. */
void kernelnames_expect(struct kernelnames *names);

/*
 * Symbols for lookups of n addresses (in any order, changed), right as of now; freed with
 * ksyms_free(). NULL with errno set.
 */
struct ksyms *kernelnames_for(struct kernelnames *names, uint64_t *addrs, size_t n);

#endif
