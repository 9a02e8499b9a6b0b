/* SPDX-License-Identifier: GPL-2.0-only */
/* The module of all tools that says which tasks are traced; its tests are in bpf/filter.bpf.h. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "run/tool.h"

extern const struct module target_module;

/* Only user or only kernel threads (enum filter_threads), for tools with options for that. */
void target_set_threads(unsigned int threads);

/* An option's argument that is the number of a process that exists (dest: uint32_t). */
int target_parse_pid(const char *what, const char *text, void *dest);

/* The processes that were named (-p or a command); none: everything is traced. */
bool target_lists_pids(void);
const pid_t *target_pids(void);
size_t target_n_pids(void);

#endif
