// SPDX-License-Identifier: GPL-2.0-only
/* The end's lines about what a report leaves out; see left_out.h. */
#include "base/msg.h"
#include "output/quantity.h"
#include "stacks/left_out.h"

void left_out_add(struct left_out *sum, const struct left_out *more)
{
	sum->all += more->all;
	sum->by_remark += more->by_remark;
	sum->by_name += more->by_name;
	sum->idle += more->idle;
}

static double percent(uint64_t value, uint64_t whole)
{
	return 100.0 * (double)value / (double)whole;
}

static uint64_t shown_of(const struct left_out *sums)
{
	return sums->all - sums->by_remark - sums->by_name;
}

void left_out_print(const struct left_out *sums, uint64_t divisor, const char *unit,
		    const char *remark)
{
	char sum[QUANTITY_MAX];

	if (sums->by_remark)
		msg_info("skipped: %s [%s]", quantity_format(sum, sums->by_remark / divisor, unit),
			 remark);
	if (sums->by_name)
		msg_info("filtered out by --only or --without: %s, %.2f %%",
			 quantity_format(sum, sums->by_name / divisor, unit),
			 percent(sums->by_name, sums->all));
	if (sums->idle)
		msg_info("idle: %s, %.2f %%, in worker pools and event loops, shown as [idle]",
			 quantity_format(sum, sums->idle / divisor, unit),
			 percent(sums->idle, shown_of(sums)));
}
