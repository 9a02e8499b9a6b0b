// SPDX-License-Identifier: GPL-2.0-only
/* Processes that are read; see targets.h. */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "base/readfile.h"
#include "dump/targets.h"

#define MAX_BYTES (1 << 20) /* of a cgroup's list of processes */

static int add_pid(uint64_t value, void *arg)
{
	struct targets *targets = arg;

	targets->pids = mem_grow(targets->pids, targets->n, &targets->cap, sizeof(*targets->pids));
	targets->pids[targets->n++] = (pid_t)value;
	return 0;
}

int targets_parse(const char *what, const char *text, void *dest)
{
	return parse_list(what, text, 1, 1 << 22, add_pid, dest);
}

static void read_list(struct targets *targets, const char *path)
{
	char *text = readfile(path, MAX_BYTES, NULL), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n")))
		if (*line)
			add_pid(strtoul(line, NULL, 10), targets);
	free(text);
}

/* Reads the lists of a cgroup and of those below. */
static void read_folder(struct targets *targets, char *folder)
{
	FTS *tree = fts_open((char *const[]){ folder, NULL }, FTS_PHYSICAL | FTS_NOSTAT, NULL);
	const FTSENT *entry;

	while (tree && (entry = fts_read(tree)))
		if (!strcmp(entry->fts_name, "cgroup.procs"))
			read_list(targets, entry->fts_path);
	if (tree)
		fts_close(tree);
}

int targets_find(struct targets *targets)
{
	int err = cgroup_filter_find(&targets->cgroup);

	if (!err && targets->cgroup.folder)
		read_folder(targets, targets->cgroup.folder);
	cgroup_filter_free(&targets->cgroup);
	if (!err && !targets->n)
		err = msg_error("target: no process in this cgroup (it may have ended)");
	return err;
}
