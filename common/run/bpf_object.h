/* SPDX-License-Identifier: GPL-2.0-only */
/* A tool's BPF object: checks the kernel's support, opens, loads, attaches and closes it. */
#ifndef BPF_OBJECT_H
#define BPF_OBJECT_H

#include <stddef.h>

#include "run/run.h"

/*
 * Unpacks gzip'd data, such as the binary's BPF objects (bpf/skeleton), and sets *bytes to the
 * unpacked size. The result is never freed. Corrupt data ends the process, since it is a part of
 * the program.
 */
void *unpack(const unsigned char *packed, size_t packed_bytes, size_t *bytes);

struct btf;

/* Tests if this process can load programs at all. Int functions return 0 or -errno, printed. */
int object_check_kernel(struct run *run);

/*
 * Returns the kernel's types, from --btf's file if given; valid until load. NULL: failed, printed.
 */
const struct btf *object_types(struct run *run);

/* Sets run->skeleton and run->object. */
int object_open(struct run *run);
int object_load(struct run *run);

/* Sets run->start_ns and attaches the programs: tracing begins. */
int object_attach(struct run *run);

/*
 * Loads the running perf event programs, and the tracing programs in names (which ends with NULL),
 * again, with another value of a settings section, and replaces them. Old and new programs share
 * all maps. For a moment both run, so that no event is missed: tracing programs must allow this.
 * Returns 0, or -errno, not printed: the old programs go on.
 */
int object_load_again(struct run *run, const char *const *names, const char *section,
		      const void *value, size_t size);

/* Calls visit for each program, also those that were loaded again and those that they replaced. */
void object_visit_programs(const struct run *run,
			   void (*visit)(const struct bpf_program *program, void *arg), void *arg);

/* Detach the programs, and close the object. Safe at any time. */
void object_detach(struct run *run);
void object_close(struct run *run);

#endif
