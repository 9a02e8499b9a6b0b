/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module that gives stack tools complete user stacks: it compiles the unwind tables of every
 * file that traced processes execute, keeps them and the processes' mappings in BPF maps
 * (bpf/abi/unwind_layout.h), and follows fork, exec, dlopen and exit.
 */
#ifndef UNWIND_H
#define UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/unwind_layout.h"
#include "run/tool.h"

extern const struct module unwind_module;

/* A stack of this process lacked tables: have another look at it. */
void unwind_learn(pid_t pid);

/* Reads the events of processes that there are now: in the middle of long work. */
void unwind_catch_up(void);

/* Called when a process has exited, before its pid can be another one's. */
void unwind_on_exit(void (*exited)(pid_t pid, void *arg), void *arg);

/*
 * Walks the stack of a thread that isn't running from outside, over the same tables: for those that
 * were off CPU before tracing began. Writes at most max words of a stack_def, leaf first, and how
 * the walk ended (enum unwind_reason). Returns their number, at least 1: only the leaf where the
 * thread has gone on meanwhile.
 */
size_t unwind_remote(const struct unwind_thread *thread, uint64_t *words, size_t max, int *reason);

/* Whether BPF copies stacks that it can't walk yet: with tables only. Known before load. */
bool unwind_makes_copies(void);

/* The same for a stack that BPF has copied. Changes what is known of its process if need be. */
size_t unwind_copied(const struct unwind_copy *copy, uint64_t *words, size_t max, int *reason);

#endif
