/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entry point of a tool's program. tool_main() owns the tool's life: parse, open, configure, load,
 * attach, announce, wait, report, close.
 */
#ifndef TOOL_H
#define TOOL_H

#include "run/run.h"

/* Defines the variable "skeleton" for the BPF program bpf/NAME.bpf.c. */
#define DEFINE_SKELETON(name)                                              \
	static void *open_skeleton(const struct bpf_object_open_opts *how) \
	{                                                                  \
		return name##_bpf__open_opts(how);                         \
	}                                                                  \
	static void destroy_skeleton(void *skeleton)                       \
	{                                                                  \
		name##_bpf__destroy(skeleton);                             \
	}                                                                  \
	static const struct skeleton skeleton = { open_skeleton, destroy_skeleton }

/*
 * Runs a tool: returns main()'s exit status (0 success, 1 failure, 2 usage error). With argc 0 it
 * prints the tool's line for the list of tools, as "tracelets" without arguments requests.
 */
int tool_main(const struct tool *tool, int argc, char **argv);

#endif
