/* SPDX-License-Identifier: GPL-2.0-only */
/* Features of the running kernel: for "tracelets check", and for single tools. */
#ifndef FEATURES_H
#define FEATURES_H

#include <stdbool.h>
#include <stdio.h>

struct btf;

/*
 * Tries every feature that some tool uses, by loading a program or making a map, an event or a
 * probe that does nothing, and prints a table of them. Returns 0, or -ENOENT if something that all
 * tools need is missing, -EPERM if that can't be determined without more capabilities.
 */
int features_print(FILE *f);

/* Tests if any program can be loaded. 0 or -errno: -EPERM and -EACCES mean a missing capability. */
int features_programs(void);

/* Tests for atomic compare-and-exchange in BPF programs, since 5.12. True if inconclusive. */
bool features_compare_and_exchange(void);

/* Tests if a program can look up a kernel symbol, since 5.16. 0 or -errno. */
int features_kallsyms_lookup(void);

/*
 * For --throttled: tests if the kernel has CPU quotas (CONFIG_CFS_BANDWIDTH). 0 or -ENOTSUP,
 * printed.
 */
int features_require_quotas(void);

/*
 * Tests if probes kill programs under seccomp: some kernels show the system calls of probes to
 * seccomp's filters.
 */
bool features_probes_kill(void);

/* Tests in a child if a seccomp filter sees that system call. */
bool features_filters_see(long number);

/* Returns true if the kernel of these types has that tracepoint. */
bool features_tracepoint(const struct btf *types, const char *name);

/* Tests if a program can be attached to the entry of that kernel function. 0 or -errno. */
int features_fentry(const char *function);

#endif
