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

/*
 * Tests if a program can be loaded at all. 0 or -errno: -EPERM and -EACCES mean a missing
 * capability.
 */
int features_programs(void);

/* Atomic compare-and-exchange in BPF programs, since 5.12. True if it can't be found out. */
bool features_compare_and_exchange(void);

/* Can a program look up a symbol of the kernel? Since 5.16. 0 or -errno. */
int features_kallsyms_lookup(void);

/* --throttled: does the kernel have CPU quotas (CONFIG_CFS_BANDWIDTH)? 0 or -ENOTSUP, printed. */
int features_require_quotas(void);

/*
 * Do probes kill programs that are under seccomp? Some kernels show the system calls of probes to
 * seccomp's filters.
 */
bool features_probes_kill(void);

/* Does a filter of seccomp see that system call? Tried in a child. */
bool features_filters_see(long number);

/* Does the kernel of these types have that tracepoint? */
bool features_tracepoint(const struct btf *types, const char *name);

/* Can a program be attached to the entry of that function of the kernel? 0 or -errno. */
int features_fentry(const char *function);

#endif
