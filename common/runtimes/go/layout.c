// SPDX-License-Identifier: GPL-2.0-only
/* Differences between Go releases; see layout.h. */
#include "runtimes/go/layout.h"

#define OLDEST_RELEASE 15
#define NEWEST_RELEASE 27

bool go_heap_layout(struct go_heap_layout *layout, unsigned int release)
{
	layout->count_words = release < 27 ? 4 : 2;
	layout->cycle_shift = release < 19 ? 0 : 1;
	return release >= OLDEST_RELEASE && release <= NEWEST_RELEASE;
}
