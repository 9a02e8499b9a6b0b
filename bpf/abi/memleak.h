/* SPDX-License-Identifier: GPL-2.0-only */
/* memleak's settings and records, shared by BPF and the loader. */
#ifndef ABI_MEMLEAK_H
#define ABI_MEMLEAK_H

#include "abi/alloc.h"
#include "abi/block.h"
#include "abi/filter.h"

struct memleak_settings {
	__u64 min_bytes, max_bytes; /* sizes of recorded blocks */
	__u64 bucket_mask;	    /* number of buckets of the block table, minus one */
	__u64 max_new_bytes;	    /* size above which operator new always throws */
	__u64 page_bytes;
	__u32 cpus;	 /* possible CPUs: each has a copy of a per-CPU block */
	__u32 sample;	 /* record one address in N */
	__u32 command;	 /* pid of the traced command; 0: none */
	bool trace;	 /* send a memleak_event for every call */
	bool by_windows; /* allocations are recorded only while a window is open */
	/* the kmem_cache_alloc tracepoint passes the cache: see compat.bpf.h */
	bool cache_is_given;
};

/* Calls of traced functions on each CPU, recorded or not. */
struct memleak_counts {
	__u64 allocs;  /* calls by traced threads; with windows, only calls inside of them */
	__u64 frees;   /* calls by traced threads, with reallocations that only free */
	__u64 foreign; /* calls by untraced processes, in files probed for all processes */
};

/* A process when it ended. */
struct memleak_ended {
	__u64 cgroup_id;
	char comm[TASK_COMM_LEN];
};

enum memleak_change {
	RANGE_GONE,	/* unmapped, or remapped as memory that is not recorded */
	RANGE_HELD,	/* mmap() with access */
	RANGE_RESERVED, /* mmap() without access */
	RANGE_OPENED,	/* mprotect() with access: reserved parts become held */
	RANGE_CLOSED,	/* mprotect() without access: held parts become reserved */
	RANGE_MOVED,	/* mremap(): the old range is unmapped, the new one inherits its state */
};

/* A call that changed a range of addresses; the loader tracks the mappings. */
struct memleak_range {
	__u64 addr, bytes;
	__u64 old_addr, old_bytes; /* RANGE_MOVED; 0 bytes: the old range remains mapped */
	__u64 began_ns;		   /* RANGE_MOVED: start of the call; newer ranges remain mapped */
	__u64 time_ns;
	struct block block; /* stack, process and generation; size and time are not set */
	__u32 change;	    /* enum memleak_change */
	__u32 keeps;	    /* ranges that become held are recorded */
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
