/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts delivered and missing samples: the kernel skips the program of a perf event, without
 * counting that, while another BPF program or bpf(2) on a map is running on the CPU
 * (bpf_overflow_handler(), kernel/events/core.c); and a timer may be late. By the clock, a sample
 * is due every period. For cycles the loader compares the total of periods with the events' counts.
 */
#ifndef SAMPLED_BPF_H
#define SAMPLED_BPF_H

#include "lib/compat.bpf.h"
#include "lib/maps.bpf.h"
#include "stack/stack.bpf.h"
#include "abi/sampled.h"

#define MIN_PERIOD_NS 10000 /* the kernel's minimum, perf_swevent_hrtimer() */

const volatile bool sampled_is_by_clock SEC(".rodata.sampled") = false;

MAP_PERCPU_ARRAY(sampled, struct sampled, 1);

/* Returns the CPU's number of idle periods; ~0: it is idle now, or unknown. */
static __always_inline __u64 sampled_count_idle(struct sampled *all, struct task_struct *current,
						bool is_idle)
{
	struct task_struct *idle = (void *)all->idle_at;

	if (is_idle)
		return ~0ULL;
	if (!idle && bpf_core_field_exists(current->se.cfs_rq))
		idle = BPF_CORE_READ(current, se.cfs_rq, rq, idle);
	all->idle_at = (__u64)idle;
	return idle ? BPF_CORE_READ(idle, nvcsw) + BPF_CORE_READ(idle, nivcsw) : ~0ULL;
}

/*
 * Counts missed samples by the clock. An idle CPU may have no samples, which are not missed. A late
 * sample doesn't delay the next one.
 */
static __always_inline void sampled_by_clock(struct sampled *all, __u64 period, __u64 n_idle)
{
	__u64 now_ns = bpf_ktime_get_ns(), since_ns = now_ns - all->due_ns, n = 1;

	if (since_ns - period / 2 >= period) {
		n = (__s64)since_ns < 0 ? 0 : (since_ns + period / 2) / period;
		if (n_idle != all->n_idle || !(n_idle + 1)) {
			all->due_ns = now_ns;
			n = 0;
		} else {
			all->missed += n - 1;
		}
	}
	all->due_ns += n * period;
	all->n_idle = n_idle;
}

/* Counts a sample, wanted or not. */
static __always_inline void sampled_note(const struct bpf_perf_event_data *ctx,
					 struct task_struct *current, bool is_idle)
{
	__u32 zero = 0;
	struct sampled *all = bpf_map_lookup_elem(&sampled, &zero);
	__u64 period = ctx->sample_period;

	if (!all)
		return;
	all->n++;
	all->periods += period;
	if (sampled_is_by_clock)
		sampled_by_clock(all, period > MIN_PERIOD_NS ? period : MIN_PERIOD_NS,
				 sampled_count_idle(all, current, is_idle));
}

/* Returns the id of the sample's user stack; 0: none, or the kernel was being entered. */
static __always_inline __u64 sampled_user_stack(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0;
	struct sampled *all;

	if (!sample_is_of_entry(ctx))
		return stack_intern_user(ctx);
	all = bpf_map_lookup_elem(&sampled, &zero);
	if (all)
		all->entries++;
	return 0;
}

#endif
