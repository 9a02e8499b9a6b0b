/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes on the allocators of the processes that memleak traces: found in each one's own mappings,
 * when it is first met and whenever it has mapped more or executed another program.
 */
#ifndef LEAKPROBES_H
#define LEAKPROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "memleak/allocators.h"
#include "run/tool.h"
#include "probes/uprobes.h"

/*
 * Before load: finds out how to attach. `follow`: whoever maps a file of the target's is probed, as
 * children must be from their first instruction on; the BPF side tells who is wanted.
 */
int leakprobes_prepare(const struct uprobes_programs *programs, const struct allocators_wish *wish,
		       bool follow);

/* Looks at a process's mappings and probes what is new. 0, or -errno if nothing could be probed. */
int leakprobes_add(pid_t pid);

bool leakprobes_knows(pid_t pid);

/* Its name, as of when it was last looked at; NULL if it isn't known. */
const char *leakprobes_comm(pid_t pid);

/* The number of probed functions. */
size_t leakprobes_count(void);

/* Of those like malloc(), or those like free(): the dearest place of a probe. */
enum probe_kind leakprobes_place(bool of_frees);

/* Attaches one of our own functions, to find out what a probe costs. NULL with errno set. */
struct uprobes *leakprobes_attach_own(struct uprobe_point *point);

void leakprobes_detach(void);
void leakprobes_free(void);

#endif
