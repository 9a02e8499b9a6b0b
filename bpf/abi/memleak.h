/* SPDX-License-Identifier: GPL-2.0-only */
/* memleak's settings and records, on both sides. */
#ifndef ABI_MEMLEAK_H
#define ABI_MEMLEAK_H

#include "abi/alloc.h"
#include "abi/block.h"
#include "abi/filter.h"

struct memleak_settings {
	__u64 min_bytes, max_bytes; /* other blocks are not recorded */
	__u64 bucket_mask;	    /* of the table of blocks */
	__u64 max_new_bytes;	    /* an operator new of more is bound to throw */
	__u64 page_bytes;
	__u32 sample;	     /* record one address in N */
	__u32 command;	     /* the process that begins as one; 0: none */
	bool trace;	     /* send every call */
	bool by_windows;     /* calls that allocate count while a window is open */
	bool cache_is_given; /* to the kernel's kmem_cache_alloc event: see compat.bpf.h */
};

/* Calls of traced functions on each CPU, recorded or not. */
struct memleak_counts {
	__u64 allocs;  /* of threads that are wanted; in windows, if there are any */
	__u64 frees;   /* and moves that only take something back, as outside of windows */
	__u64 foreign; /* of processes that are not traced, but use a file that is probed for all */
};

enum memleak_change {
	RANGE_GONE,	/* is mapped no more, or as something that is not recorded */
	RANGE_HELD,	/* mmap() with access */
	RANGE_RESERVED, /* mmap() without access */
	RANGE_OPENED,	/* mprotect(): what is reserved in it is held now */
	RANGE_CLOSED,	/* mprotect() without access: what is held in it is reserved now */
	RANGE_MOVED,	/* mremap(): the old range is gone, the new one as it was */
};

/* A call that changed a range of addresses. The loader stores mappings. */
struct memleak_range {
	__u64 addr, bytes;
	__u64 old_addr, old_bytes; /* RANGE_MOVED; 0 bytes: the old range stays */
	__u64 began_ns;		   /* RANGE_MOVED: what is younger in the old range stays */
	__u64 time_ns;
	struct block block; /* stack, process and generation; size and time are not set */
	__u32 change;	    /* enum memleak_change */
	__u32 keeps;	    /* what is held from now on is recorded */
};

/* -t: one call of a traced function that is not nested in another. */
struct memleak_event {
	__u64 time_ns, addr, size;
	__u32 tgid, tid;
	__u16 kind; /* enum alloc_kind */
	__u16 in_kernel;
	char comm[TASK_COMM_LEN];
};

#endif
