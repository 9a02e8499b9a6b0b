/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the mappings of a process, mostly the executable ones: /proc/PID/maps (proc_pid_maps(5)).
 */
#ifndef PROCMAPS_H
#define PROCMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

struct file;

struct mapping {
	uint64_t start, end; /* addresses; end exclusive */
	uint64_t offset;     /* file offset of start, bytes */
	dev_t dev;
	ino_t ino;	/* 0: not a file */
	bool is_shared; /* writes are visible to other processes that map it */
	char *path; /* as printed by the kernel, newlines unescaped; "" if none; "[vdso]", ... */

	/* CLOCK_REALTIME, at mmap(2) or a little earlier; zero: unknown, but the mapping exists */
	struct timespec mapped_at;

	/* process that may see the same files, if the mapping's own is gone; 0: unknown */
	pid_t relative;

	/* status of the file of an earlier mapping of the same inode and path; NULL: none */
	const struct stat *known;

	/* for anonymous memory: the file mapping right below; NULL: none */
	struct mapping *below;

	/* set by maps_restore_text(), else NULL */
	struct file *file;
};

struct mappings {
	struct mapping *items; /* ascending, not overlapping */
	size_t count;
};

/* Parses the text of a maps file, optionally only executable mappings. Broken lines are skipped. */
void mappings_parse(struct mappings *maps, const char *text, bool is_code_only);

/* Reads the executable mappings; freed with mappings_free(). 0 or -errno (-ESRCH: no process). */
int mappings_read(struct mappings *maps, pid_t pid);

/* Like mappings_read(), including non-executable mappings. */
int mappings_read_all(struct mappings *maps, pid_t pid);
void mappings_free(struct mappings *maps);

/* Returns true for memory without a kernel name such as [vdso]: its contents are unknown. */
bool mapping_is_memory(const struct mapping *m);

/* Returns the mapping that holds addr, or NULL. */
const struct mapping *mappings_find(const struct mappings *maps, uint64_t addr);

#endif
