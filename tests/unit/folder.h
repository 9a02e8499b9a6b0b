/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder of a test's own, which goes with all that is in it when the test ends. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <ftw.h>

#include "unit.h"

static char folder[32];

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
	folder[0] = '\0';
}

static inline void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/tracelets-XXXXXX");
	CHECK(mkdtemp(folder));
	unit_at_end = remove_folder;
}

/* A path in it, which is made at the first. */
static inline char *in_folder(const char *name)
{
	if (!folder[0])
		make_folder();
	return until_end(mem_printf("%s/%s", folder, name));
}

#endif
