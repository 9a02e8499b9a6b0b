/* SPDX-License-Identifier: GPL-2.0-only */
/* biolat's settings, histogram keys and request records, shared by BPF and the loader. */
#ifndef ABI_BIOLAT_H
#define ABI_BIOLAT_H

#include "abi/filter.h"

enum biolat_by {
	BY_NOTHING,
	BY_PARTS, /* key by time, disk and operation, each if requested */
	BY_PROCESS,
	BY_CGROUP,
	BY_STACK, /* stacks are recorded; with slower_ns, too */
};

struct biolat_settings {
	__u32 by;	    /* enum biolat_by */
	__u64 parts;	    /* BY_PARTS: the key's parts, KEY_HAS_... bits */
	bool has_owners;    /* the task that submits a request is recorded */
	bool of_bytes;	    /* values are sizes, not times */
	__u64 slower_ns;    /* minimum time to report, instead of counting; 0: count */
	__u32 last_request; /* last index of the table of requests, which has 2^n elements */
	__u32 device;	    /* number of the only traced disk or partition; 0: all */
	/* names printed for PROCESS_WRITEBACK and PROCESS_FLUSH */
	char kernel_names[2][TASK_COMM_LEN];
};

/* Parts of a request's time. */
enum biolat_time {
	TIME_DEVICE, /* from issue to completion */
	TIME_QUEUE,  /* from creation to issue */
	TIME_TOTAL,
	TIMES,
};

/*
 * Key of BY_PARTS: disk number, operation, its classes, time. KEY_HAS_...: the parts that the key
 * has.
 */
#define KEY_OP_SHIFT	32
#define KEY_CLASS_SHIFT 40
#define KEY_TIME_SHIFT	48
#define KEY_HAS_DISK	(1ULL << 52)
#define KEY_HAS_OP	(1ULL << 53)
#define KEY_HAS_TIME	(1ULL << 54)

/* Classes of an operation; bits. */
enum biolat_class {
	CLASS_SYNC = 1,	     /* a task waits for the write */
	CLASS_METADATA = 2,  /* the file system's own data */
	CLASS_READAHEAD = 4, /* no task waits for the read yet */
};

/*
 * Process ids for requests of no process: writes by the kernel's workers, mostly write-back of
 * files; and the block layer's flushes of a disk's cache, each for all tasks that wait for one.
 */
#define PROCESS_WRITEBACK 0xffffffffU
#define PROCESS_FLUSH	  0xfffffffeU

static inline bool process_is_kernels(__u32 tgid)
{
	return tgid >= PROCESS_FLUSH;
}

/* Default capacity of the table of requests; number of elements in which a request may be. */
#define BIOLAT_REQUESTS 8192
#define BIOLAT_TRIES	8

/*
 * A request: an element of the table. Its first 32 bytes, which are in one line of the CPU's
 * caches, suffice unless owners are recorded.
 */
struct biolat_request {
	__u64 io;	 /* address of the kernel's request or bio; 0: none */
	__u64 issued_ns; /* time of issue; 0: not in flight */
	__u32 claims;	 /* 1: in use; CLAIM_OF_MOVED per request with this hash elsewhere */
	__u32 bytes;	 /* bytes completed so far; of a bio: all */
	union {
		__u64 made_ns; /* request: creation time; 0: unknown */
		__u64 disk;    /* bio: address of its disk */
		__u64 whole;   /* part of a split bio: the bio */
	};
	__u64 cgroup;
	__u32 tgid;
	bool is_owned;	/* is_wanted is known; if wanted, cgroup, tgid and comm are the owner's */
	bool is_wanted; /* the request passes the filter */
	bool is_part;	/* split from a bio; has only the members io and whole */
	__u8 failure;	/* bio: number of a failed part's status; 0: none */
	char comm[TASK_COMM_LEN];
	union {
		/* requests with this hash that were inserted without an element */
		__u32 unplaced;
		__u32 parts; /* bio: parts that are not completed */
	};
	/* of a bio: number of its disk at submission, since drivers change the bio's disk later */
	__u32 disk_number;
	__u64 sector;
	__u32 flags;
	/* BY_STACK: stacks of the submitting task; 0: none */
	__u64 user_id, kernel_id;
};

#define CLAIM_OF_MOVED (1U << 16)

/* A request that took at least the time given to --slower. */
struct biolat_slow {
	__u64 queue_ns, device_ns;
	__u64 sector, bytes;
	__u64 key; /* operation and its classes, as in a BY_PARTS key */
	__u64 user_id, kernel_id;
	__u64 cgroup;
	__u32 tgid;
	char comm[TASK_COMM_LEN];
	char disk[32];
};

#define BIOLAT_STATUSES 256
#define BIOLAT_ERRNOS	128

struct biolat_counts {
	__u64 bytes;	/* bytes of completed requests; counted only with of_bytes */
	__u64 requeues; /* issued requests that the driver returned to the queue */
	/* failed requests by blk_status_t; before 5.16: by errno, starting at BIOLAT_ERRNOS */
	__u64 statuses[BIOLAT_STATUSES];
};

#endif
