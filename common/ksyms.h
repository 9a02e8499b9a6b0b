/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel symbols from /proc/kallsyms: the kernel, its modules and BPF programs. Only code symbols
 * (types t, T, w, W) are kept, sorted once; a lookup never answers beyond the end of the symbol's
 * text section or module.
 */
#ifndef KSYMS_H
#define KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms_copy;
struct ksyms;

struct ksym {
	const char *name;   /* valid until ksyms_free() */
	const char *module; /* NULL for the kernel proper; "bpf" for BPF programs */
	uint64_t start;
};

/*
 * Reads symbols from path (NULL: /proc/kallsyms). NULL with errno set when it can't be read.
 * Hidden addresses (all zero, kptr_restrict) are not an error: see ksyms_hidden().
 */
struct ksyms *ksyms_load(const char *path);

/* The same for lookups of n addresses only (in any order, changed): see kallsyms.h. */
struct ksyms *ksyms_load_for(const char *path, uint64_t *addrs, size_t n);
struct ksyms *ksyms_copied_for(const struct kallsyms_copy *copy, uint64_t *addrs, size_t n);

void ksyms_free(struct ksyms *ks);

/* True if every address in the file was zero: then no lookup answers. */
bool ksyms_hidden(const struct ksyms *ks);

/* The symbol that covers addr. False where none does. */
bool ksyms_find(const struct ksyms *ks, uint64_t addr, struct ksym *sym);

/* True for JITed BPF programs, anybody's. */
bool ksym_is_program(const char *name);

/* True for what runs a tracer's program: bpf_trace_run*, __traceiter_*, bpf_trampoline_*, ... */
bool ksym_is_tracer(const char *name);

#endif
