// SPDX-License-Identifier: GPL-2.0-only
/* Finds numbers that keep growing; see growth.h. */
#include <stdlib.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "memleak/growth.h"

struct growths {
	struct idmap by_id;
	uint32_t interval; /* number of the latest interval; the first is 1 */
};

struct growths *growths_new(void)
{
	return mem_zalloc(1, sizeof(struct growths));
}

void growths_free(struct growths *growths)
{
	if (!growths)
		return;
	idmap_free(&growths->by_id, free);
	free(growths);
}

static struct growth *find_or_add(struct growths *growths, uint64_t id)
{
	struct growth *g = idmap_find(&growths->by_id, id);

	if (g)
		return g;
	g = mem_zalloc(1, sizeof(*g));
	g->id = id;
	g->interval = growths->interval - 1; /* it had nothing then */
	idmap_add(&growths->by_id, id, g);
	return g;
}

void growths_set(struct growths *growths, uint64_t id, uint64_t bytes, uint64_t count)
{
	struct growth *g = find_or_add(growths, id);

	if (g->interval + 1 < growths->interval) { /* it was 0 in between */
		g->bytes = 0;
		g->count = 0;
		g->n_rises = 0;
	}
	g->bytes_more = (int64_t)(bytes - g->bytes);
	g->count_more = (int64_t)(count - g->count);
	if (bytes > g->bytes && bytes > g->most_bytes && growths->interval > 1)
		g->n_rises++;
	else if (bytes != g->bytes)
		g->n_rises = 0;
	if (bytes > g->most_bytes)
		g->most_bytes = bytes;
	g->bytes = bytes;
	g->count = count;
	g->interval = growths->interval;
}

/* Ids with no blocks for so long mostly belong to processes that have exited. */
static bool is_kept(void *value, void *arg)
{
	const struct growths *growths = arg;
	struct growth *g = value;

	if (g->interval + GROWTH_INTERVALS >= growths->interval)
		return true;
	free(g);
	return false;
}

void growths_next(struct growths *growths)
{
	growths->interval++;
	idmap_keep(&growths->by_id, is_kept, growths);
}

const struct growth *growths_find(const struct growths *growths, uint64_t id)
{
	const struct growth *g = idmap_find(&growths->by_id, id);

	return g && g->interval == growths->interval && g->n_rises >= GROWTH_INTERVALS ? g : NULL;
}
