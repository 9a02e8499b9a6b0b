/* SPDX-License-Identifier: GPL-2.0-only */
/* Blobs of HotSpot's code: compiled methods, stubs. */
#ifndef HOTSPOT_BLOB_H
#define HOTSPOT_BLOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/hotspot/vm.h"

struct hotspot_blob {
	uint64_t address, begin, end; /* code: begin to end, exclusive */
	bool is_used;
	uint32_t frame_bytes;	/* 0: none, or unknown */
	int32_t frame_complete; /* bytes of code after which the frame exists */
	uint32_t compile_id;	/* compiled methods only, like the following member */
	uint64_t method;
	uint64_t name_at;		   /* address of its name */
	char name[40];			   /* kind, or name of a stub; see the functions */
	uint8_t bytes[HOTSPOT_BLOB_BYTES]; /* the blob, after the block's header */
};

/* A compiled method, as BPF found it at the sample. */
struct hotspot_compiled {
	uint64_t blob, method;
	uint32_t compile_id; /* never used again in the process */
};

/*
 * Reads a block, but not the name, which stays as it was. Returns the block's length in segments;
 * 0: unreadable or broken.
 */
uint64_t hotspot_blob_read(const struct hotspot_layout *layout, pid_t pid, uint64_t block,
			   struct hotspot_blob *blob);

/*
 * Reads the block at *block, and moves it to the next one, up to end. *blob is the block before, or
 * zeroes: many have the same name, which is then not read again. False: the end, or broken.
 */
bool hotspot_blob_next(const struct hotspot_layout *layout, pid_t pid, uint64_t *block,
		       uint64_t end, struct hotspot_blob *blob);

/* Returns the heap that contains an address; NULL: none. */
const struct hotspot_heap *hotspot_blob_heap(const struct hotspot_layout *layout, uint64_t addr);

/* Reads the block that contains an address, if it is used. */
bool hotspot_blob_find(const struct hotspot_layout *layout, pid_t pid, uint64_t addr,
		       struct hotspot_blob *blob);

#endif
