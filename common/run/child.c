// SPDX-License-Identifier: GPL-2.0-only
/* The command after "--"; see child.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/path.h"
#include "base/signals.h"
#include "run/capabilities.h"
#include "run/child.h"
#include "run/entry.h"

#define GRACE_MS 2000

/* Waits in the child for its release. False: the parent has exited. */
static bool wait_to_go(int go_fd)
{
	char byte = 0;
	ssize_t n;

	do
		n = read(go_fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Runs in the child: executes the command when it is released. */
static void run_command(int go_fd, int failure_fd, char **argv)
{
	sigset_t none;
	int err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signals_restore();
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	limits_restore();
	if (!wait_to_go(go_fd))
		_exit(127);
	execvp(argv[0], argv);
	err = -errno;
	if (write(failure_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static int fork_command(struct child *child, int go_fd, int failure_fd, char **argv)
{
	child->pid = fork();
	if (child->pid < 0) {
		child->pid = 0;
		return msg_errno(-errno, "%s: start failed", argv[0]);
	}
	if (child->pid == 0) {
		close(child->release_fd);
		run_command(go_fd, failure_fd, argv);
	}
	close(go_fd);
	close(failure_fd);
	child->pid_fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	return child->pid_fd < 0 ? msg_errno(-errno, "%s: watch failed", argv[0]) : 0;
}

int child_start(struct child *child, char **argv)
{
	int go[2], failure[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) || pipe2(failure, O_CLOEXEC))
		return msg_errno(-errno, "%s: start failed", argv[0]);
	child->name = argv[0];
	child->release_fd = go[1];
	child->failure_fd = failure[0];
	return fork_command(child, go[0], failure[1], argv);
}

/* Waits for the ptraced child's exec. False: the child has exited. */
static bool wait_for_exec(struct child *child)
{
	while (waitpid(child->pid, &child->status, 0) == child->pid && WIFSTOPPED(child->status)) {
		if (child->status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return true;
		ptrace(PTRACE_CONT, child->pid, 0, WSTOPSIG(child->status));
	}
	child->is_reaped = true;
	return false;
}

static void hold(struct child *child, const struct child_hooks *hooks)
{
	int err;

	hooks->executed(hooks->arg);
	err = entry_run_to(child->pid, &child->status);
	if (err > 0) {
		child->is_reaped = true;
		return;
	}
	if (!err)
		hooks->loaded(hooks->arg);
	else if (err != -ENOTSUP)
		msg_errno(err, "command: stop at its entry point failed");
	ptrace(PTRACE_DETACH, child->pid, 0, 0);
}

/* Searches for the program's file as execvp(3) does. False: not found. */
static bool find_program(const char *name, char path[PATH_MAX])
{
	const char *folder = strchr(name, '/') ? NULL : getenv("PATH");

	if (!folder)
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	for (;; folder++) {
		int bytes = (int)strcspn(folder, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", bytes, bytes ? folder : ".", name) <
			    PATH_MAX &&
		    !access(path, X_OK))
			return true;
		folder += bytes;
		if (!*folder)
			return false;
	}
}

/*
 * Returns true if the program's file has privileges (setuid, capabilities) that exec doesn't grant
 * under a tracer without CAP_SYS_PTRACE.
 */
static bool would_lose_privileges(const char *name)
{
	char path[PATH_MAX], capabilities[64];
	struct stat st;

	if (capabilities_have(CAP_SYS_PTRACE) || !find_program(name, path) || stat(path, &st))
		return false;
	return st.st_mode & (S_ISUID | S_ISGID) ||
	       getxattr(path, "security.capability", capabilities, sizeof(capabilities)) > 0;
}

static bool seize(const struct child *child)
{
	const char *reason = NULL;

	if (would_lose_privileges(child->name))
		reason = "it gains privileges at exec (needs CAP_SYS_PTRACE)";
	else if (ptrace(PTRACE_SEIZE, child->pid, 0, PTRACE_O_TRACEEXEC))
		reason = strerror(errno);
	if (reason)
		msg_warn(
			"command: its start is not traced, because it can't be stopped at exec: %s",
			reason);
	return !reason;
}

int child_release(struct child *child, const struct child_hooks *hooks)
{
	bool holds = seize(child);
	int err = 0;
	ssize_t n;

	send(child->release_fd, "", 1, MSG_NOSIGNAL); /* the child may have been killed */
	close(child->release_fd);
	child->release_fd = -1;
	if (holds && wait_for_exec(child))
		hold(child, hooks);
	n = read(child->failure_fd, &err, sizeof(err));
	close(child->failure_fd);
	child->failure_fd = -1;
	if (n == sizeof(err)) {
		child->status = 0; /* keeps child_finish() from reporting the failure again */
		return msg_errno(err, "%s: exec failed", child->name);
	}
	if (!holds)
		hooks->executed(hooks->arg);
	return 0;
}

static void report_status(int status, bool ended_by_us)
{
	if (WIFSIGNALED(status) && !ended_by_us)
		msg_warn("command: killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		msg_warn("command: exited with status %d", WEXITSTATUS(status));
}

/* Sends SIGTERM. False: the command has not exited within GRACE_MS. */
static bool end_command(const struct child *child)
{
	struct pollfd ended = { .fd = child->pid_fd, .events = POLLIN };
	int n;

	/* A child that is not released yet may still have our handler for SIGTERM. */
	kill(child->pid, child->release_fd >= 0 ? SIGKILL : SIGTERM);
	do
		n = poll(&ended, 1, GRACE_MS);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

void child_finish(struct child *child)
{
	bool ended_by_us = false;

	if (!child->pid)
		return;
	if (!child->is_reaped)
		ended_by_us = waitpid(child->pid, &child->status, WNOHANG) == 0;
	if (ended_by_us && !end_command(child)) {
		msg_warn("command: process %d ignores SIGTERM and keeps running", child->pid);
		return;
	}
	if (ended_by_us)
		waitpid(child->pid, &child->status, 0);
	report_status(child->status, ended_by_us);
	close(child->pid_fd);
	child->pid = 0;
}

char *child_find_tool(const char *own, const char *other)
{
	char path[PATH_MAX] = "";
	const char *name;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
		return NULL;
	name = path_last(path);
	return strcmp(name, own) != 0 ? mem_strdup(path)
				      : mem_printf("%.*s%s", (int)(name - path), path, other);
}
