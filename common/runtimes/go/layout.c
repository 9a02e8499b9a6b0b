// SPDX-License-Identifier: GPL-2.0-only
/* Differences between Go releases; see layout.h. */
#include "base/array.h"
#include "runtimes/go/layout.h"

#define OLDEST_RELEASE 15
#define NEWEST_RELEASE 27

bool go_heap_layout(struct go_heap_layout *layout, unsigned int release)
{
	layout->count_words = release < 27 ? 4 : 2;
	layout->cycle_shift = release < 19 ? 0 : 1;
	return release >= OLDEST_RELEASE && release <= NEWEST_RELEASE;
}

/* From the DWARF of each of these releases. The rest were not available. */
static const struct {
	unsigned int first, last;
	struct go_g_layout g;
} g_layouts[] = {
	/* bytes; sched: sp, pc, g, bp; syscall: sp, pc; status, goid, since, reason, startpc */
	{ 15, 15, { 352, 56, 64, 72, 104, 112, 120, 144, 152, 168, 176, 296, false } },
	{ 19, 19, { 368, 56, 64, 72, 104, 112, 120, 144, 152, 168, 176, 312, true } },
	{ 21, 22, { 352, 56, 64, 72, 104, 112, 120, 144, 152, 168, 176, 296, true } },
	{ 23, 24, { 360, 56, 64, 72, 104, 112, 120, 152, 160, 176, 184, 304, true } },
	{ 25, 25, { 352, 56, 64, 72, 96, 104, 112, 144, 152, 168, 176, 296, true } },
	{ 26, 27, { 360, 56, 64, 72, 96, 104, 112, 144, 152, 168, 176, 304, true } },
};

const struct go_g_layout *go_g_layout(unsigned int release)
{
	for (size_t i = 0; i < ARRAY_SIZE(g_layouts); i++)
		if (release >= g_layouts[i].first && release <= g_layouts[i].last)
			return &g_layouts[i].g;
	return NULL;
}
