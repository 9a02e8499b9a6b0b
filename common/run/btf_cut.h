/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Type information (BTF, Documentation/bpf/btf.rst), cut down to what one BPF object needs. Plain
 * work on bytes: no kernel, no root.
 */
#ifndef BTF_CUT_H
#define BTF_CUT_H

#include <stddef.h>
#include <stdint.h>

#include <bpf/btf.h>

/* Attach target of a program: input is a type's name, output its id. */
struct btf_target {
	char name[64];
	uint32_t kind, id; /* id 0: not found */
};

/*
 * Returns the types of `whole` (size bytes of BTF) that have the name of a structure, union or
 * enumeration of `local` ("___flavor" aside), with what they hold by value; pointers lead to void.
 * Also the types of tracepoints ("btf_trace_"), which give their arguments. The caller frees it
 * with btf__free(). NULL if `whole` is not understood.
 */
struct btf *btf_cut(const void *whole, size_t size, const struct btf *local,
		    struct btf_target *targets, size_t n_targets);

#endif
