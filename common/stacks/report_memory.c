// SPDX-License-Identifier: GPL-2.0-only
/* The memory of reports; see report_memory.h. */
#include "base/clock.h"
#include "base/mem.h"
#include "stacks/report_memory.h"

#define ONCE_BYTES	 (256ULL << 20)
#define AGAIN_BYTES	 (4ULL << 20) /* most names are known from the reports before */
#define LONG_INTERVAL_NS (5 * NS_PER_S)

/* Debug information takes far more, and long to read again. */
void report_memory_choose(const struct run *run, struct dso_options *symbols)
{
	bool is_small = run->interval_ns && !symbols->lines;

	if (symbols->max_bytes != SYMBOLS_MEM_NOT_GIVEN)
		return;
	symbols->max_bytes = is_small ? AGAIN_BYTES : ONCE_BYTES;
	symbols->drops_all = is_small && run->interval_ns >= LONG_INTERVAL_NS;
}

static bool goes_on(const struct run *run)
{
	return run->interval_ns && !run->is_last;
}

void report_memory_begin(const struct run *run)
{
	if (goes_on(run))
		mem_keep_small();
}

void report_memory_end(const struct run *run)
{
	if (goes_on(run))
		mem_give_back();
}
