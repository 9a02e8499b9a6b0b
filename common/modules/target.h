/* SPDX-License-Identifier: GPL-2.0-only */
/* Module of all tools that selects the traced tasks; BPF's part is bpf/lib/filter.bpf.h. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "run/run.h"

extern const struct module target_module;

struct target_spec {
	bool follows_if_asked; /* a command's children are traced with --follow only */
};

/*
 * Fails, with a message, for a number that isn't a live process's, such as a thread's. has_tids:
 * the tool has an option for threads.
 */
int target_check_pid(uint32_t pid, bool has_tids);

/* An opt_parse_fn: pid of an existing process (dest: uint32_t *). */
int target_parse_pid(const char *what, const char *text, void *dest);

/* Returns true if threads outside of the tool's pid namespace are traced. After configure. */
bool target_reaches_outside(const struct run *run);

/* Returns true if no option selects tasks. After configure. */
bool target_is_everything(const struct run *run);

/* Returns true if children are traced, too: by default those of a command. */
bool target_follows(const struct run *run);

/* Return the processes selected by -p or a command, if any. */
bool target_lists_pids(const struct run *run);
const pid_t *target_pids(const struct run *run);
size_t target_n_pids(const struct run *run);

/* Visits these and, if children are traced, too, all of theirs; some may have exited. */
void target_visit(const struct run *run, void (*visit)(pid_t pid, void *arg), void *arg);

#endif
