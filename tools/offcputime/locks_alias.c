// SPDX-License-Identifier: GPL-2.0-only
/* Executes the tool locks; see locks_alias.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/msg.h"
#include "offcputime/locks_alias.h"
#include "run/child.h"

#define OPTION "--locks"

/* Returns the index of a word among the options; 0: absent. */
static int find_word(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], word))
			return i;
	return 0;
}

bool wants_locks(int argc, char **argv)
{
	return find_word(argc, argv, OPTION);
}

static void drop_word(int argc, char **argv, int at)
{
	memmove(&argv[at], &argv[at + 1], (size_t)(argc - at) * sizeof(*argv));
}

int run_locks(int argc, char **argv)
{
	static char old_name[] = "offcputime", locks[] = "locks";
	char *program;

	msg_set_name(old_name);
	msg_quiet = find_word(argc, argv, "--quiet");
	msg_info(OPTION ": runs the tool locks");
	program = child_find_tool(old_name, locks);
	drop_word(argc, argv, find_word(argc, argv, OPTION));
	argv[0] = locks;
	if (program)
		execv(program, argv);
	msg_errno(-errno, OPTION ": %s: exec failed", program ? program : locks);
	free(program);
	return 1;
}
