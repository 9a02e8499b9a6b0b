// SPDX-License-Identifier: GPL-2.0-only
/* What /proc tells of a process; see procstate.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "process/procstate.h"
#include "base/readfile.h"

static char *read_proc(pid_t pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return readfile(path, 4096, NULL);
}

int process_comm(pid_t pid, char *comm, size_t size)
{
	char *text = read_proc(pid, "comm");

	if (!text)
		return -errno;
	text[strcspn(text, "\n")] = '\0';
	snprintf(comm, size, "%s", text);
	free(text);
	return 0;
}

struct stat_fields {
	char state;
	long n_threads;
	unsigned long long user, system; /* clock ticks */
};

/* The name, in parentheses, may hold anything, so what comes behind its end counts. */
static bool read_stat(pid_t pid, struct stat_fields *stat)
{
	char *text = read_proc(pid, "stat"), *after = text ? strrchr(text, ')') : NULL;
	int n = after ? sscanf(after,
			       ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d "
			       "%*d %*d %ld",
			       &stat->state, &stat->user, &stat->system, &stat->n_threads)
		      : 0;

	free(text);
	return n == 4;
}

/* The main thread may end before the others, and is a zombie then. */
bool process_has_ended(pid_t pid)
{
	struct stat_fields stat;

	if (!read_stat(pid, &stat))
		return true;
	return (stat.state == 'Z' || stat.state == 'X') && stat.n_threads <= 1;
}

uint64_t process_cpu_ns(pid_t pid)
{
	struct stat_fields stat;

	if (!read_stat(pid, &stat))
		return 0;
	return (stat.user + stat.system) * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}
