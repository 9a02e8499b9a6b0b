/* SPDX-License-Identifier: GPL-2.0-only */
/* The command after "--": started stopped, released once everything is attached. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	const char *name; /* as it was requested */
	pid_t pid;	  /* 0: no command */
	int pid_fd;	  /* readable when it has ended */
	int release_fd;	  /* a byte written releases the child; closing it before ends the child */
	int failure_fd;	  /* returns errno if the command can't be executed */
	bool is_reaped;	  /* set if it has ended, with this status */
	int status;
};

/* Forks; the child waits before it executes argv. 0 or -errno, printed. */
int child_start(struct child *child, char **argv);

/* Called while the child is held, at moments of its start. */
struct child_hooks {
	void (*executed)(void *arg); /* before its first instruction */
	void (*loaded)(void *arg);   /* at its entry point, with its libraries mapped */
	void *arg;
};

/* Lets the child execute its command. 0, or -errno, printed, if it can't be executed. */
int child_release(struct child *child, const struct child_hooks *hooks);

/* Ends it if it still runs (SIGTERM, as perf does), waits for it, and reports its failure. */
void child_finish(struct child *child);

#endif
