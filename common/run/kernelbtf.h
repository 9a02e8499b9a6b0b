/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's type information (BTF, Documentation/bpf/btf.rst) for libbpf, cut down to what one
 * BPF object needs.
 *
 * libbpf indexes all of the kernel's types and searches them once for each type that a program
 * touches: more than half of a small tool's start-up and CPU time. Here one pass finds the types
 * that the object names, and libbpf gets just those, as a file of its own
 * (bpf_object_open_opts.btf_custom_path). What the programs attach to is found in the same pass
 * and handed over by custom section handlers (libbpf_register_prog_handler), which is why programs
 * have to be attached by kernelbtf_attach(). Functions return 0 or -errno, not printed.
 */
#ifndef KERNELBTF_H
#define KERNELBTF_H

#include <stddef.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

struct kernelbtf;

/*
 * Called before the object is opened with these options, once in a process. Free with
 * kernelbtf_free(). NULL with errno.
 */
struct kernelbtf *kernelbtf_new(struct bpf_object_open_opts *opts);

/* Requests the kernel's types that have the names of local types (without "___flavor"). */
void kernelbtf_want_types(struct kernelbtf *kernelbtf, const struct btf *local);

/*
 * Gives libbpf the requested types of `whole` (size bytes of BTF), with all types that they contain
 * by value. Pointers to types that are not requested become pointers to void; types of tracepoints
 * ("btf_trace_") request those that their arguments point to. -EINVAL: invalid BTF, also a type
 * that contains itself.
 */
int kernelbtf_cut(struct kernelbtf *kernelbtf, const void *whole, size_t size);

/*
 * Called before load, once the programs to load are chosen. whole: the kernel's types; NULL: read
 * from /sys/kernel/btf/vmlinux.
 */
int kernelbtf_provide(struct kernelbtf *kernelbtf, const struct bpf_object *object,
		      const struct btf *whole);

int kernelbtf_attach(struct bpf_object_skeleton *skeleton);

void kernelbtf_free(struct kernelbtf *kernelbtf);

#endif
