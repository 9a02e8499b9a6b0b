/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Areas of a process's memory (one per line of /proc/PID/maps), shared by BPF and the loader. An
 * area is identified by its kind and, if it maps one, by its file. The file's path is sent in a
 * separate record, as the kernel's list of path components.
 */
#ifndef ABI_AREA_H
#define ABI_AREA_H

#include "abi/types.h"

enum area_kind {
	AREA_UNKNOWN, /* area not found */
	AREA_ANON,
	AREA_HEAP,
	AREA_STACK,
	AREA_SPECIAL, /* the kernel's: [vdso], [vvar] */
	AREA_FILE,
	AREA_SHMEM, /* tmpfs, memfd, System V, shared anonymous memory */
	AREA_HUGE,  /* hugetlbfs */
	AREA_KINDS,
};

#define AREA_ALL_KINDS ((1U << AREA_KINDS) - 1)

/* Unused fields are 0. ino of an AREA_SPECIAL is the address of its kernel object. */
struct area_id {
	__u64 ino;
	__u32 dev;	  /* device number in the kernel's format: 12 bits major, 20 bits minor */
	__u32 generation; /* the inode's generation: differs when the inode number is reused */
	__u32 kind;	  /* enum area_kind */
	__u32 padding;
};

/* Returns true for a file or a kernel object. A namespace's first System V segment is inode 0. */
static inline bool area_has_name(const struct area_id *id)
{
	return id->ino || id->kind > AREA_SPECIAL;
}

#define AREA_NAME_BYTES 256 /* bytes of a path component: NAME_MAX and a terminator */
#define AREA_TEXT_BYTES 4096

/* Path of an area's file: its components, each null-terminated, from the file up to the root. */
struct area_def {
	struct area_id id;
	__u32 n_bytes; /* bytes used in text */
	bool is_deleted;
	bool is_cut; /* the beginning of the path is missing */
	char text[AREA_TEXT_BYTES + AREA_NAME_BYTES];
};

#endif
