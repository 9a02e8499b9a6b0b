/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runtimes that make code while a program runs: how they are recognised, and the settings that give
 * their code complete stacks and names. See doc/runtimes.md for each.
 */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <stddef.h>

#include "process/maps.h"

/*
 * An advice is an instruction to the user: "start it with ..."; "PID" in it is replaced by the
 * process's.
 */
struct runtime {
	const char *name;
	const char *const *files; /* file names by which it is recognised, terminated by NULL */
	/* advice for complete stacks through its code; NULL: impossible */
	const char *to_complete;
	const char *to_name; /* advice for names of its code; NULL: impossible */
};

/*
 * Returns the runtime of a process, by the files that it executes; NULL: none that is known. A file
 * is one of a runtime if its path's last component is a name, or goes on with a version
 * ("libnode.so.108", "php8.2").
 */
const struct runtime *runtime_find(const struct maps *maps);

/* Writes an advice with the pid in it; 0: of several processes, so "PID" stays. */
void runtime_advice(char *text, size_t size, const char *advice, pid_t pid);

#endif
