/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder of a test's own, which goes with all that is in it. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "unit.h"

static char folder[32];

/* A path in it, to be freed. */
static inline char *in_folder(const char *name)
{
	return mem_printf("%s/%s", folder, name);
}

static inline void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/tracelets-XXXXXX");
	CHECK(mkdtemp(folder));
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void remove_folder(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
