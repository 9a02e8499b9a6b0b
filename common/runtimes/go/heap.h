/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the sampled heap profile that a Go program's runtime maintains: live objects by stack and
 * size, as runtime.MemProfile() reports them, without stopping the program. The runtime judges
 * which objects live at the end of a collection, so values are those of the collection before the
 * latest one.
 */
#ifndef GO_HEAP_H
#define GO_HEAP_H

#include "runtimes/go/program.h"

struct go_heap_record {
	size_t at, n; /* return addresses in go_heap.words, leaf first, with inlined calls */
	uint64_t object_bytes;	/* size of each object */
	uint64_t allocs, frees; /* sampled objects, not scaled */
};

struct go_heap {
	uint64_t rate;	/* mean number of bytes between samples */
	uint32_t cycle; /* changes with each collection */
	struct go_heap_record *records;
	size_t n, cap;
	uint64_t *words;
	size_t n_words, words_cap;
};

/* Returns the reason why a program has no profile; NULL: it has one, or is still starting. */
const char *go_heap_why_none(const struct go_program *p);

/*
 * Reads the profile, until clock_thread_ns() is end_ns. 0; -ENODATA: go_heap_why_none() has the
 * reason; -EAGAIN: it changed during each attempt; -EINVAL: not as expected; -EFAULT: unreadable
 * memory; -ETIMEDOUT. Freed with go_heap_free(), also after an error.
 */
int go_heap_read(struct go_program *p, uint64_t end_ns, struct go_heap *heap);
void go_heap_free(struct go_heap *heap);

/*
 * Drops inlined calls from the n addresses of a record, for names that are found with all calls
 * inlined at an address. Returns the number of addresses left.
 */
size_t go_heap_drop_inlined(struct go_program *p, uint64_t *words, size_t n);

/* Returns the number of objects that a sampled object of that size stands for. */
double go_heap_scale(const struct go_heap *heap, uint64_t object_bytes);

#endif
