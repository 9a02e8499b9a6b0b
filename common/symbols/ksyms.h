/* SPDX-License-Identifier: GPL-2.0-only */
/* Symbols of kernel addresses (kernel, modules, BPF programs), from the kernel's own output. */
#ifndef KSYMS_H
#define KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ksyms;

struct ksym {
	const char *name;   /* valid until ksyms_free() */
	const char *module; /* NULL: the kernel proper, or a BPF program */
	uint64_t start;
};

/*
 * Parses the kernel's answers for n addresses (ascending, distinct): one line per address, as %pB
 * of printk() prints the address one byte after it: "NAME+0xOFFSET/0xSIZE" and perhaps " [MODULE]",
 * or just a number. Takes over answers (freed with ksyms_free()).
 */
struct ksyms *ksyms_parse(const uint64_t *addrs, size_t n, char *answers);
void ksyms_free(struct ksyms *ks);

/* Finds the symbol that covers addr, which is one of the parsed addresses. False if none does. */
bool ksyms_find(const struct ksyms *ks, uint64_t addr, struct ksym *sym);

/* Returns true for the name of a JITed BPF program, the tracer's or another one. */
bool ksym_is_program(const char *name);

/* Returns true for a name of code that is loaded for a while: a BPF program or its trampoline. */
bool ksym_may_change(const char *name);

/*
 * Returns true for kernel functions that run a tracer's BPF program: bpf_trace_run*, __traceiter_*,
 * bpf_trampoline_*, ...
 */
bool ksym_is_tracer(const char *name);

#endif
