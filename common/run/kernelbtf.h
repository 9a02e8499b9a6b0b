/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's type information, cut down to what one BPF object needs.
 *
 * libbpf reads and indexes all of it, 5 MB, twice over, and searches it once for each type that a
 * program touches: more than half of a small tool's start-up, CPU time and memory. Here one pass
 * finds the few types that the object names, and libbpf gets just those, as a file of its own
 * (bpf_object_open_opts.btf_custom_path). What the programs attach to is looked up in the same pass
 * and handed over by custom section handlers (libbpf_register_prog_handler), which is why programs
 * have to be attached by kernelbtf_attach().
 *
 * If anything goes wrong, libbpf is given the whole and everything works as without this.
 */
#ifndef KERNELBTF_H
#define KERNELBTF_H

#include <stdint.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

/* Before the object is opened with these options. */
void kernelbtf_prepare(struct bpf_object_open_opts *opts);

/* Before it is loaded, once it is known which programs will be. */
void kernelbtf_provide(const struct bpf_object *object);

/* Attaches the programs of kinds that libbpf cannot any more. 0 or -errno. */
int kernelbtf_attach(struct bpf_object_skeleton *skeleton);

/* ---- for tests ---- */

/* What a program attaches to: a type's name in, its id out. */
struct kernelbtf_target {
	char name[64];
	uint32_t kind, id; /* id 0: not found */
};

/*
 * The types of `whole` (size bytes of BTF) that have the name of a structure, union or enumeration
 * of `local` ("___flavor" aside), with those of their members whose names occur in `local`, and
 * what they hold by value; pointers lead to void. NULL if `whole` is not understood.
 */
struct btf *kernelbtf_cut(const void *whole, size_t size, const struct btf *local,
			  struct kernelbtf_target *targets, size_t n_targets);

#endif
