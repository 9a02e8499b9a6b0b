/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's type information for libbpf, cut down to what one BPF object needs (btf_cut.h).
 *
 * libbpf reads and indexes all of it, 5 MB, twice over, and searches it once for each type that a
 * program touches: more than half of a small tool's start-up, CPU time and memory. Here one pass
 * finds the few types that the object names, and libbpf gets just those, as a file of its own
 * (bpf_object_open_opts.btf_custom_path). What the programs attach to is found in the same pass
 * and handed over by custom section handlers (libbpf_register_prog_handler), which is why programs
 * have to be attached by kernelbtf_attach().
 *
 * On any failure libbpf is given all types, and works as without this unit.
 */
#ifndef KERNELBTF_H
#define KERNELBTF_H

#include <bpf/libbpf.h>

struct kernelbtf;

/*
 * Called before the object is opened with these options, once in a process. source: a file with
 * this kernel's types, raw or ELF, which must stay valid; NULL: /sys/kernel/btf/vmlinux. Free with
 * kernelbtf_free().
 */
struct kernelbtf *kernelbtf_prepare(struct bpf_object_open_opts *opts, const char *source);

/* Called before load, once the programs to load are chosen. NULL does nothing. */
void kernelbtf_provide(struct kernelbtf *kernelbtf, const struct bpf_object *object);

/* Attaches the programs that libbpf can't attach because of this. 0 or -errno. */
int kernelbtf_attach(struct bpf_object_skeleton *skeleton);

void kernelbtf_free(struct kernelbtf *kernelbtf);

#endif
