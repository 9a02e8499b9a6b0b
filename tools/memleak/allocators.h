/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions by which a process allocates and frees memory, found in the files that it has
 * mapped, under any name and in any mount namespace: glibc, musl, jemalloc (je_, _rjem_), tcmalloc
 * (tc_), mimalloc (mi_), C++ operators new and delete, mmap. Several of them can be in one process,
 * and all are found. Both .dynsym and .symtab are searched, so static programs work unless they are
 * stripped.
 *
 * A function is listed once, however many names it has. Indirect functions (IFUNC) are left out, as
 * their symbol names the code that chooses and not the one that is chosen. Symbols that are local
 * to their file count only with a prefix: "free" alone may be anything.
 */
#ifndef ALLOCATORS_H
#define ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "abi/alloc.h"
#include "probes/probe_place.h"

struct file_probes;

/* A searched file, with or without allocation functions. */
struct alloc_file {
	dev_t dev; /* as in /proc/PID/maps */
	ino_t ino;
	/* status when it was searched; all zero: it could not be opened */
	struct stat st;
	char *path; /* path as the process sees it; for messages */
	int fd;	    /* readable; -1: nothing of interest in it, or closed */
	/* the user's probes: these keep the inode from being reused */
	struct file_probes *probes;
	bool stays_open;	    /* set by the user: its functions are probed again */
	bool is_asked_for;	    /* requested by path: it may be mapped later */
	bool is_mapped, was_mapped; /* see allocators_release() */
};

struct alloc_function {
	enum alloc_kind kind;
	char *name;		  /* one of its names, without version */
	size_t file;		  /* index in files[] */
	uint64_t offset;	  /* file offset of its first byte */
	uint64_t bytes;		  /* its size; 0: unknown */
	struct probe_place place; /* for the kind's arguments and return; see alloc_traits */
};

struct allocators {
	struct alloc_file *files; /* all searched files, so that none is searched twice */
	size_t n_files, files_cap;
	struct alloc_function *functions; /* functions of one file are consecutive */
	size_t n_functions, functions_cap;
	size_t n_new; /* number of functions added by the latest scan */
};

struct allocators_request {
	const char *object; /* -O: search only this file; NULL: all mapped files */
	/* --symbols-prefix: prefix of the functions' names; NULL: known prefixes */
	const char *prefix;
	bool without_mmap;   /* no mmap, munmap, mremap */
	bool may_move_args;  /* as in struct probe_request */
	bool places_at_zero; /* put all probes at the first instruction, for comparison */
};

/*
 * Adds the functions in files that the process has mapped: for a new process, or after it has
 * executed or mapped more. `a` begins zeroed; several processes may share it, which then has each
 * file's functions once. Returns the number of added functions, which are the last ones in
 * functions[], or -errno: -ESRCH no such process, -ENOENT the object is neither mapped nor, if it
 * is a path, a file in its namespace or ours.
 *
 * An object is a path, or a name as in "libfoo.so.1" or "libfoo" of a mapped file.
 */
int allocators_scan(struct allocators *a, pid_t pid, const struct allocators_request *request);

/* Marks files that the process maps now as used, for allocators_release(). */
void allocators_mark(struct allocators *a, pid_t pid);

/*
 * Releases the files that no process had mapped in this call nor in the last one, but none that was
 * requested by its path; first calls leave() for each. True if the next call may release more.
 */
bool allocators_release(struct allocators *a, void (*leave)(struct alloc_file *file, void *arg),
			void *arg);

/* Closes the files that need not stay open, once their functions are probed. */
void allocators_close(struct allocators *a);

void allocators_free(struct allocators *a);

/* Properties of functions of a kind. */
struct alloc_traits {
	const char *name;    /* "malloc" */
	unsigned int n_args; /* that matter */
	bool wants_return;   /* its return value matters */
};

const struct alloc_traits *alloc_kind_traits(enum alloc_kind kind);

/*
 * Returns the kind of the function with that name, without a known prefix or `prefix` (if not
 * NULL); -1: none.
 */
int alloc_kind_of(const char *name, const char *prefix, bool is_local);

#endif
