/* SPDX-License-Identifier: GPL-2.0-only */
/* Features of the running kernel, for "tracelets check" and for tools. */
#ifndef FEATURES_H
#define FEATURES_H

#include <stdbool.h>
#include <stdio.h>

struct btf;

/*
 * Tries every feature that some tool uses, by loading a program or making a map, an event or a
 * probe that does nothing, and prints a table of them. Returns 0; -ENOENT: a feature that all tools
 * need is missing; -EPERM: unknown without more capabilities.
 */
int features_print(FILE *f);

/* Tests if any program can be loaded. 0 or -errno: -EPERM and -EACCES mean a missing capability. */
int features_programs(void);

/* Tests for atomic compare-and-exchange in BPF programs (since 5.12). True also if inconclusive. */
bool features_compare_and_exchange(void);

/* Tests if a BPF program can look up a kernel symbol (since 5.16). 0 or -errno. */
int features_kallsyms_lookup(void);

/*
 * For --throttled: tests if the kernel has CPU quotas (CONFIG_CFS_BANDWIDTH). 0 or -ENOTSUP,
 * printed.
 */
int features_require_quotas(void);

/*
 * Tests if uprobes kill programs under seccomp, whose filters see uprobes' calls in some kernels.
 */
bool features_probes_kill(void);

/* Tests in a child if a seccomp filter sees the system call. */
bool features_filters_see(long number);

/* Returns true if the kernel that the types describe has the tracepoint. */
bool features_tracepoint(const struct btf *types, const char *name);

/* Returns true if the structure of that type has the member. */
bool features_member(const struct btf *types, const char *type, const char *member);

/* Tests if an fentry program can be attached to the kernel function. 0 or -errno. */
int features_fentry(const char *function);

#endif
