/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the Python frames of a thread that isn't running from outside: as bpf/runtimes/python.bpf.h
 * does for the current task, but the costs of a read don't matter.
 */
#ifndef PYTHON_REMOTE_H
#define PYTHON_REMOTE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/python.h"

/* Callback that receives the meaning of a Python frame's word. */
struct python_definer {
	void (*define)(const struct python_def *def, size_t size, void *arg);
	void *arg;
};

struct python_thread {
	pid_t tid; /* whose memory it is */
	uint32_t tgid;
	uint64_t base; /* the thread pointer */
	struct python_layout layout;
	bool lines;
	bool is_complete;    /* the native walk reached the outermost frame */
	const uint64_t *sps; /* stack address at which each native frame begins */
	size_t n_native;
	struct python_definer definer;
};

/*
 * Appends to the n_native words of a stack those of its Python frames, up to max words in total,
 * and defines each word before. Returns the new number of words. is_cut: outer frames did not fit.
 */
size_t python_walk_remote(const struct python_thread *thread, uint64_t *words, size_t max,
			  bool *is_cut);

#endif
