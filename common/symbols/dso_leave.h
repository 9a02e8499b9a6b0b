/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Release of dsos: as a whole, when nothing needs them any more, or their files alone, when no
 * process maps these.
 */
#ifndef DSO_LEAVE_H
#define DSO_LEAVE_H

#include <stdbool.h>

struct dso;
struct dso_cache;

/* Keeps a dso over the next dso_cache_release(). */
void dso_mark(struct dso *dso);

/*
 * Frees the dsos that are not marked and that no process has mapped; unless at_once, only if that
 * was true in the last call, too. Clears all marks. May evict cached names if they are many.
 */
void dso_cache_release(struct dso_cache *cache, bool at_once);

/*
 * Finds the files that no process has mapped; unless at_once, only if that was true in the last
 * call, too, and no one has attached since. When the wanted names have been found,
 * dso_cache_leave() drops their symbols, and files_release() may close them. Like
 * dso_cache_release(), it may evict cached names.
 */
void dso_cache_find_leaving(struct dso_cache *cache, bool at_once);
bool dso_is_leaving(const struct dso *dso);
void dso_cache_leave(struct dso_cache *cache);

#endif
