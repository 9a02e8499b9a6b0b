/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The heaps of traced Go programs, from the sampled profile that the Go runtime maintains
 * (runtimes/go/heap.h): their objects can't be probed, since the garbage collector frees them.
 */
#ifndef GO_HEAPS_H
#define GO_HEAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "memleak/blocks.h"
#include "memleak/leak_options.h"
#include "output/frames.h"
#include "run/run.h"

#define GO_HEAP_GROUP "[Go heap]" /* marker at the root of its stacks */

struct go_heaps;

struct go_heaps *go_heaps_new(const struct run *run);
void go_heaps_free(struct go_heaps *heaps); /* ignores NULL */

/* Adds a process, if it runs a Go program. Called again when its mappings have changed. */
void go_heaps_add(struct go_heaps *heaps, pid_t pid);

/* Returns the number of Go programs that have a heap profile. */
size_t go_heaps_count(const struct go_heaps *heaps);

/* Reads all profiles, and adds their stacks to the totals. Prints, once, why one can't be read. */
void go_heaps_read(struct go_heaps *heaps, const struct leak_options *options,
		   struct block_sums *sums);

/* Prints a line for each heap: its totals at the last read. f NULL: to standard error. */
void go_heaps_print(const struct go_heaps *heaps, FILE *f);

/*
 * Returns true if a process's memory was mapped by the Go runtime for the heap that the profile
 * describes. frames: n frames, root first.
 */
bool go_heaps_own(const struct go_heaps *heaps, pid_t tgid, const struct frame *const *frames,
		  size_t n);

#endif
