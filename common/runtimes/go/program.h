/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A running Go program, as its own runtime sees it: the release, and the addresses of the runtime's
 * variables and functions. .gopclntab names the functions, in stripped programs, too; without
 * symbols, the code of some of them shows where the variables are. Everything is read from the
 * program's file and memory, which are hostile, and nothing is written or stopped.
 */
#ifndef GO_PROGRAM_H
#define GO_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "elf/gopclntab.h"
#include "process/maps.h"

enum go_variable {
	GO_ALLGS,    /* allgs: slice of all goroutines */
	GO_MBUCKETS, /* mbuckets: list of the heap profile's records */
	GO_CYCLE,    /* mProfCycle: number of collections, as the heap profile counts them */
	GO_RATE,     /* MemProfileRate: mean number of bytes between samples */
	GO_VARIABLES,
};

enum go_function {
	GO_ALLGADD,
	GO_FLUSH_PROFILE,
	GO_FREE_PROFILED,
	GO_END_CYCLE,
	GO_PROFILE_ALLOC,
	GO_ALLOC_CACHE,
	GO_READ_PROFILE, /* reads the heap profile; absent if the linker dropped it */
	GO_MAIN,	 /* first function of the main goroutine */
	GO_GOEXIT,	 /* outermost function of each goroutine */
	GO_FORCE_GC,	 /* first function of a goroutine that each program has */
	GO_FUNCTIONS,
};

#define GO_VERSION_BYTES 64

struct go_program {
	pid_t pid;
	struct maps *maps;
	struct elf64 elf; /* borrowed from maps */
	struct gopclntab table;
	uint64_t bias; /* load address of the file in the process */
	/* "go1.24.4"; empty: unknown */
	char version[GO_VERSION_BYTES];
	unsigned int release;			/* 24 for Go 1.24; 0: unknown */
	uint64_t variables[GO_VARIABLES];	/* addresses in the process; 0: not found */
	struct go_func functions[GO_FUNCTIONS]; /* ELF addresses; end 0: absent */
};

/* Returns the file with Go code among the mappings of a process; NULL: none. */
struct file *go_program_file(struct maps *maps, pid_t pid);

/*
 * Opens the Go program or library that a process with these mappings runs. NULL with *err set:
 * -ENODATA without Go code, or another -errno. Freed with go_program_close(), which ignores NULL.
 */
struct go_program *go_program_open(pid_t pid, struct maps *maps, int *err);
void go_program_close(struct go_program *p);

#endif
