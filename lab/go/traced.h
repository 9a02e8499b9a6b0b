/* SPDX-License-Identifier: GPL-2.0-only */
/* A program that is run under ptrace(2), with the tools' unwind tables of it. */
#ifndef GO_TRACED_H
#define GO_TRACED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/peek.h"
#include "unwind/unwind_remote.h"
#include "../../tests/unit/unwind_own.h"

struct traced {
	pid_t pid;
	struct own_tables *own;
	struct unwind_view view; /* tables NULL until traced_look() */
};

/* Executes argv; it is stopped where it begins, and its threads will be traced, too. */
static inline bool traced_begin(struct traced *t, char **argv)
{
	int status;

	t->own = own_tables_new();
	t->pid = fork();
	if (!t->pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		_exit(127);
	}
	waitpid(t->pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, t->pid, NULL, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
	return WIFSTOPPED(status);
}

/* Reads the process's mappings, unless it has read them before. */
static inline void traced_look(struct traced *t)
{
	struct unwind_process slice = {};

	if (t->view.tables)
		return;
	unwind_procs_update(t->own->procs, t->pid, 0, &slice);
	t->view.pid = t->pid;
	t->view.tables = t->own->tables;
	t->view.mappings = t->own->mappings + slice.first;
	t->view.n_mappings = slice.count;
}

#endif
