/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the functions by which a process allocates and frees memory, in all files that it has
 * mapped, in any mount namespace: glibc, musl, jemalloc (je_, _rjem_), tcmalloc (tc_), mimalloc
 * (mi_), C++ operators new and delete, mmap. A process may have several allocators. Both .dynsym
 * and .symtab are searched, so static programs work unless they are stripped.
 *
 * A function is listed once, however many names it has. Indirect functions (IFUNC) are omitted:
 * their symbol is that of the resolver, not of the chosen function. Local symbols count only with a
 * prefix: "free" alone may be anything.
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
#include "process/maps.h"

struct file_probes;

/* A searched file, with or without allocation functions. */
struct alloc_file {
	dev_t dev; /* device number as in /proc/PID/maps */
	ino_t ino;
	/* status when the file was searched; all zero: it could not be opened */
	struct stat st;
	char *path; /* path in the process's mount namespace, for messages */
	int fd;	    /* readable; -1: no allocation functions, or closed */
	/* set by the caller: the file's probes, which prevent reuse of the inode; NULL: none */
	struct file_probes *probes;
	bool stays_open;   /* set by the caller: the file's functions are probed again, by fd */
	bool is_asked_for; /* requested by path; may be mapped later */
	bool is_mapped;	   /* see allocators_mark() */
	bool was_mapped;   /* at the latest scan or release */
};

struct alloc_function {
	enum alloc_kind kind;
	char *name;		  /* preferred name, without version */
	size_t file;		  /* index in files[] */
	uint64_t offset;	  /* file offset of its first byte */
	uint64_t bytes;		  /* size of the function; 0: unknown */
	struct probe_place place; /* location of the probe, see alloc_traits */
};

struct allocators {
	struct alloc_file *files; /* all searched files, each once */
	size_t n_files, files_cap;
	struct alloc_function *functions; /* functions of one file are consecutive */
	size_t n_functions, functions_cap;
	size_t n_new; /* number of functions added by the latest scan */
};

struct allocators_request {
	const char *object; /* -O: search only this file; NULL: all mapped files */
	/* --symbols-prefix: prefix of the functions' names; NULL: known prefixes */
	const char *prefix;
	bool without_mmap;   /* omit mmap, munmap, mremap, mprotect */
	bool may_move_args;  /* as in struct probe_request */
	bool places_at_zero; /* put all probes at the first instruction, for comparison */
};

/*
 * Adds the functions in files that the process has mapped: for a new process, or after an exec or
 * new mappings. `a` is zeroed at first; processes may share it, with each file's functions only
 * once. Returns the number of added functions, the last ones in functions[], or -errno: -ESRCH no
 * such process, -ENOENT the object is neither mapped nor, if it is a path, a file in the process's
 * namespace or ours.
 *
 * request->object is a path, or the name of a mapped file: "libfoo.so.1" or "libfoo".
 */
int allocators_scan(struct allocators *a, pid_t pid, const struct allocators_request *request);

/* Returns true if a mapped file has been probed. */
bool allocators_are_probed(const struct allocators *a, const struct maps *maps);

/* Marks the files that the process maps now as used, for allocators_release(). */
void allocators_mark(struct allocators *a, pid_t pid);

/*
 * Releases files that were marked neither for this call nor for the last one, except those
 * requested by path; calls leave() for each before. Returns true if the next call may release more.
 */
bool allocators_release(struct allocators *a, void (*leave)(struct alloc_file *file, void *arg),
			void *arg);

/* Closes the files without stays_open, once their functions are probed. */
void allocators_close(struct allocators *a);

void allocators_free(struct allocators *a);

/* Properties of functions of a kind. */
struct alloc_traits {
	const char *name;    /* "malloc" */
	unsigned int n_args; /* number of relevant arguments */
	bool wants_return;   /* the return value is needed */
};

const struct alloc_traits *alloc_kind_traits(enum alloc_kind kind);

/*
 * Returns the kind of a function by its name without version and prefix: `prefix`, or any known one
 * if NULL. is_local: the symbol is local to its file. -1: not an allocation function.
 */
int alloc_kind_of(const char *name, const char *prefix, bool is_local);

#endif
