// SPDX-License-Identifier: GPL-2.0-only
/* Files with the names of JIT code; see jitfile.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/msg.h"
#include "base/readfile.h"
#include "process/procstate.h"
#include "process/roots.h"
#include "symbols/jitfile.h"

#define MAX_STATUS_BYTES 65536
#define CLOCK_SLACK_S	 2 /* of clocks that are set a little, and of coarse file times */

/* The last word of NSpid is the pid in the innermost namespace: the process's own view. */
static pid_t read_inner_pid(pid_t pid)
{
	char path[40], *text, *line, *word;
	pid_t inner = pid;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	text = readfile(path, MAX_STATUS_BYTES, NULL);
	line = text ? strstr(text, "\nNSpid:") : NULL;
	if (line) {
		*strchrnul(line + 1, '\n') = '\0';
		word = strrchr(line + 1, '\t');
		inner = word ? atoi(word + 1) : pid;
	}
	free(text);
	return inner;
}

/* 0; -EACCES: the file belongs to another user. */
static int check_owner(const struct stat *file, pid_t pid)
{
	struct stat process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (!file->st_uid)
		return 0;
	if (stat(path, &process))
		return -ENOENT; /* who knows whose it was */
	return file->st_uid == process.st_uid ? 0 : -EACCES;
}

/* -ESTALE: it was left by an earlier process of that pid, as in a container that was restarted. */
static int check_age(const struct stat *file, pid_t pid)
{
	uint64_t start_ns = process_start_unix_ns(pid);
	uint64_t written_s = (uint64_t)file->st_mtim.tv_sec + CLOCK_SLACK_S;

	return written_s < start_ns / NS_PER_S ? -ESTALE : 0;
}

static struct jitmap *open_map(int root_fd, pid_t pid, struct stat *st)
{
	char path[40];
	int fd, err;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", read_inner_pid(pid));
	fd = root_open_file(root_fd, path);
	if (fd == -ENOENT && root_has_name(root_fd, path))
		fd = -EACCES; /* a link out of that root, or to nothing */
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	err = fstat(fd, st) ? -errno : check_owner(st, pid);
	if (!err)
		err = check_age(st, pid);
	if (!err)
		return jitmap_from(fd);
	close(fd);
	errno = -err;
	return NULL;
}

static void warn_of_map(pid_t pid, int err)
{
	static bool said;

	if (said || err == ENOENT)
		return;
	said = true;
	if (err == ESTALE)
		msg_warn("process %d: perf map ignored: older than the process (JIT frames stay "
			 "unnamed)",
			 pid);
	else
		msg_warn("process %d: perf map ignored: not a regular file owned by its user or by "
			 "root "
			 "(%s; JIT frames stay unnamed)",
			 pid, strerror(err));
}

struct jitmap *jitfile_open(int root_fd, pid_t pid, struct stat *st)
{
	struct jitmap *map = open_map(root_fd, pid, st);

	if (!map)
		warn_of_map(pid, errno);
	return map;
}
