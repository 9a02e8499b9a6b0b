/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runtimes that make code while a program runs: how they are recognised, and what has to be said to
 * them so that stacks go through that code, and that it has names. What each does is in
 * doc/runtimes.md.
 */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <stddef.h>

#include "process/maps.h"

/* Advice is what somebody is to do: "start it with ..."; "PID" in it stands for the process's. */
struct runtime {
	const char *name;
	const char *const *files; /* by one of which it is recognised; ends with NULL */
	const char *to_complete;  /* so that stacks through its code are complete; NULL: no way */
	const char *to_name;	  /* so that its code has names; NULL: there is no way */
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
