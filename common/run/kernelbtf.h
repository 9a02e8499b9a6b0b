/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's type information (BTF, Documentation/bpf/btf.rst) for libbpf, cut down to what one
 * BPF object needs.
 *
 * libbpf indexes all of the kernel's types and searches them once for each type that a program
 * uses: more than half of a small tool's start-up and CPU time. Here one pass finds the types that
 * the object names, and libbpf gets only these, in a separate file
 * (bpf_object_open_opts.btf_custom_path). The same pass finds the types that programs attach to;
 * custom section handlers pass their ids to libbpf (libbpf_register_prog_handler), so programs must
 * be attached by kernelbtf_attach(). Functions return 0 or -errno, not printed.
 */
#ifndef KERNELBTF_H
#define KERNELBTF_H

#include <stddef.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

struct kernelbtf;

/*
 * Prepares opts for opening the object, once per process. Freed with kernelbtf_free(). NULL: errno.
 */
struct kernelbtf *kernelbtf_new(struct bpf_object_open_opts *opts);

/* Prepares opts for opening an object again, with the types that were provided for it. */
void kernelbtf_open_again(const struct kernelbtf *kernelbtf, struct bpf_object_open_opts *opts);

/* Requests the kernel's types that have the names of local types (without "___flavor"). */
void kernelbtf_want_types(struct kernelbtf *kernelbtf, const struct btf *local);

/*
 * Gives libbpf the requested types of `whole` (size bytes of BTF), with all types that they contain
 * by value. Pointers to other types become pointers to void, except for the arguments of requested
 * tracepoints ("btf_trace_"). -EINVAL: invalid BTF, or a type that contains itself.
 */
int kernelbtf_cut(struct kernelbtf *kernelbtf, const void *whole, size_t size);

/*
 * Provides libbpf with the object's types; called before load, once the programs to load are
 * chosen. whole: the kernel's types; NULL: read from /sys/kernel/btf/vmlinux.
 */
int kernelbtf_provide(struct kernelbtf *kernelbtf, const struct bpf_object *object,
		      const struct btf *whole);

int kernelbtf_attach(struct bpf_object_skeleton *skeleton);

void kernelbtf_free(struct kernelbtf *kernelbtf);

#endif
