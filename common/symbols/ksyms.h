/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols of kernel addresses, named by the kernel itself: its own, modules' and BPF programs'.
 */
#ifndef KSYMS_H
#define KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ksyms;

struct ksym {
	const char *name;   /* valid until ksyms_free() */
	const char *module; /* NULL for the kernel proper and BPF programs */
	uint64_t start;
};

/*
 * answers: a line for each of n addresses (ascending, no two equal), as %pB of the kernel's
 * printk() writes the address one byte after it: "NAME+0xOFFSET/0xSIZE" and perhaps " [MODULE]", or
 * just a number. Taken over.
 */
struct ksyms *ksyms_parse(const uint64_t *addrs, size_t n, char *answers);
void ksyms_free(struct ksyms *ks);

/* Finds the symbol that covers addr, one of the requested addresses. False if none does. */
bool ksyms_find(const struct ksyms *ks, uint64_t addr, struct ksym *sym);

/* Returns true for JITed BPF programs of any process. */
bool ksym_is_program(const char *name);

/*
 * Returns true for functions that run a tracer's program: bpf_trace_run*, __traceiter_*,
 * bpf_trampoline_*, ...
 */
bool ksym_is_tracer(const char *name);

#endif
