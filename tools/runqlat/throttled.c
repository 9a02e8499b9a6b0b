// SPDX-License-Identifier: GPL-2.0-only
/* Waits that a quota caused; see throttled.h. */
#include <inttypes.h>

#include <bpf/bpf.h>

#include "abi/runqlat.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/msg.h"
#include "output/quantity.h"
#include "run/bpfmap.h"
#include "runqlat/throttled.h"

struct throttled {
	uint64_t reported_ns; /* part of BPF's total that was reported, in ns */
};

const char *const throttled_causes[] = {
	[CAUSE_OTHER] = "contended",
	[CAUSE_QUOTA] = "throttled",
};

/* Waits with one cause. */
struct waits {
	uint64_t count, ns, p90_ns;
};

DEFINE_STATE(struct throttled, throttled_of, throttled_module)

static int leave_out_throttled(struct run *run)
{
	map_leave_out(run, "throttled_ns");
	program_leave_out(run, "runqlat_migrate");
	return 0;
}

/* Returns the throttled time since the last report. */
static uint64_t take_throttled_ns(struct run *run)
{
	int fd = bpf_map__fd(map_find(run, "throttled_ns"));
	struct throttled *throttled = throttled_of(run);
	uint64_t sum_ns = throttled->reported_ns, ns;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, &sum_ns))
		msg_warn("throttled time: map read failed");
	ns = sum_ns - throttled->reported_ns;
	if (!run->is_peek)
		throttled->reported_ns = sum_ns;
	return ns;
}

static struct waits waits_of(const struct run *run, const struct hist_list *list,
			     enum runqlat_cause cause)
{
	const struct hist_unit *unit = histograms_unit(run);
	const struct hist *hist = histograms_of_key(list, cause);
	struct waits waits = {};

	if (hist) {
		waits.count = hist_count(hist);
		waits.ns = hist_to_ns(unit, hist_average(hist, unit) * (double)waits.count);
		waits.p90_ns = hist_to_ns(unit, hist_percentile(hist, unit, 90));
	}
	return waits;
}

static void print_time(FILE *f, const char *before, uint64_t ns)
{
	char text[QUANTITY_MAX];

	fprintf(f, "%s%s", before, quantity_format(text, ns, "nanoseconds"));
}

static void print_text(FILE *f, const struct waits *held, const struct waits *others, uint64_t ns)
{
	uint64_t n = held->count + others->count;
	char unit[QUANTITY_MAX];

	fprintf(f, "\nof %" PRIu64 " %s ", n, quantity_unit(unit, n, "waits"));
	if (!held->count) {
		fputs("none was throttled", f);
		print_time(f, ": p90 ", others->p90_ns);
		fputc('\n', f);
		return;
	}
	fprintf(f, "%" PRIu64 " %s", held->count, held->count == 1 ? "was" : "were");
	print_time(f, " throttled: p90 ", held->p90_ns);
	if (others->count)
		print_time(f, "; the rest: p90 ", others->p90_ns);
	print_time(f, "\nof the ", held->ns);
	print_time(f, " that throttled waits took, quotas caused ", ns);
	fputc('\n', f);
}

static void write_row(struct table_output *to, const struct waits *held, const struct waits *others,
		      uint64_t ns)
{
	static const struct metric metric = {
		.name = "tracelets_runqlat_throttled_seconds_total",
		.help = "Time that CPU quotas held back runnable threads.",
		.divisor = NS_PER_S,
	};
	static const struct table_column columns[] = {
		{ "waits", .kind = CELL_UINT },
		{ "throttled_waits", .kind = CELL_UINT },
		{ "throttled_waits_ns", .kind = CELL_UINT },
		{ "throttled_ns", .kind = CELL_UINT, .metric = &metric },
	};
	static const struct table table = { "throttled", columns, ARRAY_SIZE(columns), ~0U };
	const struct cell cells[] = {
		{ .n = held->count + others->count },
		{ .n = held->count },
		{ .n = held->ns },
		{ .n = ns },
	};

	table_row(to, &table, cells);
}

void throttled_conclude(struct run *run, struct table_output *to, const struct hist_list *list)
{
	struct waits held = waits_of(run, list, CAUSE_QUOTA);
	struct waits others = waits_of(run, list, CAUSE_OTHER);
	uint64_t ns = take_throttled_ns(run);

	if (to->format == &text_table)
		print_text(to->f, &held, &others, ns);
	else if (to->format != &csv_table)
		write_row(to, &held, &others, ns);
}

const struct module throttled_module = {
	.state = ZEROES(struct throttled),
	.leave_out = leave_out_throttled,
};
