// SPDX-License-Identifier: GPL-2.0-only
/* Resource limits; see limits.h. */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/limits.h"

/* The original limits, before limits_raise(). */
static struct {
	bool are_known;
	struct rlimit files, locked;
} before;

void limits_raise(void)
{
	struct rlimit files, locked = { RLIM_INFINITY, RLIM_INFINITY };

	before.are_known = !getrlimit(RLIMIT_NOFILE, &before.files) &&
			   !getrlimit(RLIMIT_MEMLOCK, &before.locked);
	setrlimit(RLIMIT_MEMLOCK, &locked);
	files = before.files;
	if (!before.are_known)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

void limits_restore(void)
{
	if (!before.are_known)
		return;
	setrlimit(RLIMIT_NOFILE, &before.files);
	setrlimit(RLIMIT_MEMLOCK, &before.locked);
}

bool limit_is_reached(int err)
{
	switch (-err) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EAGAIN:
		return true;
	default:
		return false;
	}
}

static const char *files_hint(char *text, size_t size)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return NULL;
	snprintf(text, size,
		 "raise ulimit -n, or LimitNOFILE= of the systemd unit (limit: %llu open files)",
		 (unsigned long long)files.rlim_cur);
	return text;
}

static const char *memory_hint(char *text, size_t size)
{
	struct rlimit space;

	if (getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY)
		return "free memory, or raise the cgroup's memory.max (MemoryMax= of the systemd "
		       "unit)";
	snprintf(text, size,
		 "raise ulimit -v, or LimitAS= of the systemd unit (limit: %llu MB of address "
		 "space)",
		 (unsigned long long)space.rlim_cur >> 20);
	return text;
}

const char *limit_hint(int err, char *text, size_t size)
{
	switch (-err) {
	case EMFILE:
		return files_hint(text, size);
	case ENFILE:
		return "raise sysctl fs.file-max (too many open files in the whole system)";
	case ENOMEM:
		return memory_hint(text, size);
	case EAGAIN:
		return "raise ulimit -u, or the cgroup's pids.max (too many processes or threads)";
	case E2BIG:
		return "reduce the size of maps or lists (larger than the kernel accepts)";
	default:
		return NULL;
	}
}

static int read_paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &level) != 1)
		level = 0;
	fclose(f);
	return level;
}

const char *limit_hint_of_perf(int err, char *text, size_t size)
{
	int level = err == -EACCES ? read_paranoid() : 0;

	if (level <= 2)
		return NULL;
	snprintf(text, size,
		 "set sysctl kernel.perf_event_paranoid to 2 (now %d), or grant CAP_SYS_ADMIN",
		 level);
	return text;
}
