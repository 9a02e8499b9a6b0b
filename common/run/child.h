/* SPDX-License-Identifier: GPL-2.0-only */
/* The command after "--": started stopped, released once everything is attached. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	const char *name; /* argv[0] */
	pid_t pid;	  /* process id; 0: no command */
	int pid_fd;	  /* pidfd of the child, readable when it has exited */
	int release_fd;	  /* writing a byte releases the child, closing ends it; -1: released */
	int failure_fd;	  /* delivers the errno if the command can't be executed; -1: closed */
	bool is_reaped;	  /* the child has exited, with this status */
	int status;
};

/* Forks a child that waits for its release before it executes argv. 0 or -errno, printed. */
int child_start(struct child *child, char **argv);

/* Called while the child is stopped at two points of its start. */
struct child_hooks {
	void (*executed)(void *arg); /* before the first instruction */
	void (*loaded)(void *arg);   /* called at the entry point, when libraries are mapped */
	void *arg;
};

/* Lets the child execute its command. 0 or -errno, printed. */
int child_release(struct child *child, const struct child_hooks *hooks);

/* Ends the child if it runs (SIGTERM, as perf does), waits for it, and reports its failure. */
void child_finish(struct child *child);

/*
 * Returns the path of a program that runs the tool `other` if argv[0] is its name: this program if
 * it has all tools, else the one beside it. own: this tool's name. NULL: unknown. Freed by the
 * caller.
 */
char *child_find_tool(const char *own, const char *other);

#endif
