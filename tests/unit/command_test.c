// SPDX-License-Identifier: GPL-2.0-only
/* The command behind "--": it is executed when it is let go, and only then. */
#include "run/child.h"
#include "unit.h"

#define READY 7

static char shell[] = "/bin/sh", option[] = "-c", ends[] = "exit 7", prints[] = "echo";

static void do_nothing(void *arg)
{
	(void)arg;
}

static const struct child_hooks hooks = { do_nothing, do_nothing, NULL };

TEST(a_command_runs_when_it_is_let_go)
{
	char *argv[] = { shell, option, ends, NULL };
	struct child child = {};

	CHECK_EQ(child_start(&child, argv), 0);
	CHECK_EQ(child_release(&child, &hooks), 0);
	CHECK_EQ(waitpid(child.pid, &child.status, 0), child.pid);
	CHECK_EQ(WEXITSTATUS(child.status), READY);
	close(child.pid_fd);
}

/* The command's output closes when the last process that could have written to it has ended. */
TEST(a_command_does_not_run_if_the_tool_ends_before)
{
	char *argv[] = { shell, option, prints, NULL };
	struct child child = {};
	int output[2];
	pid_t tool;
	char byte;

	CHECK_EQ(pipe2(output, O_CLOEXEC), 0);
	tool = fork();
	if (!tool) {
		dup2(output[1], STDOUT_FILENO);
		_exit(child_start(&child, argv) ? 1 : READY);
	}
	close(output[1]);
	waitpid(tool, &child.status, 0);
	CHECK_EQ(WEXITSTATUS(child.status), READY);
	CHECK_EQ(read(output[0], &byte, 1), 0);
	close(output[0]);
}
