// SPDX-License-Identifier: GPL-2.0-only
/* Names of cgroups by their ids: a walk through the mounted hierarchy; see cgroups.h. */
#include <errno.h>
#include <ftw.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "process/cgroups.h"

static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

/* nftw(3) hands nothing through to its function. */
static struct {
	uint64_t id;
	size_t root_length;
	char *buf;
	size_t size;
} search;

static int match_folder(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type != FTW_D || st->st_ino != search.id)
		return 0;
	path += search.root_length;
	snprintf(search.buf, search.size, "%s", *path ? path : "/");
	return 1;
}

int cgroup_path_of(uint64_t id, char *buf, size_t size)
{
	struct statfs fs;

	*buf = '\0';
	search.id = id;
	search.buf = buf;
	search.size = size;
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		if (statfs(mounts[i], &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		search.root_length = strlen(mounts[i]);
		if (nftw(mounts[i], match_folder, 16, FTW_PHYS | FTW_MOUNT) == 1)
			return 0;
	}
	return -ENOENT;
}
