// SPDX-License-Identifier: GPL-2.0-only
/* Use of memory and CPUs; see process_usage.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "process/process_usage.h"
#include "process/procstate.h"

#define MIB (1 << 20)

/* Two counts of a process or thread. */
struct used {
	uint64_t id, began;
	uint64_t counts[2];
};

static void add_used(struct idmap *map, struct used used)
{
	struct used *copy;

	if (idmap_find(map, used.id))
		return;
	copy = mem_zalloc(1, sizeof(*copy));
	*copy = used;
	idmap_add(map, used.id, copy);
}

static void add_stat(struct process_usage *usage, pid_t pid)
{
	struct process_stat stat;

	if (!process_stat_read(&stat, pid))
		return;
	add_used(&usage->processes, (struct used){ (uint64_t)pid,
						   stat.start_ticks,
						   { stat.minor_faults, stat.major_faults } });
	usage->n_threads += stat.n_threads;
	usage->resident_bytes += stat.resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_delays(struct process_usage *usage, pid_t pid, pid_t tid)
{
	struct thread_times times;

	if (thread_times_read(&times, pid, tid))
		add_used(&usage->threads,
			 (struct used){ (uint64_t)tid, 0, { times.waited_ns, times.arrivals } });
}

struct process_usage process_usage_read(const pid_t *pids, size_t n)
{
	struct process_usage usage = {};

	for (size_t i = 0; i < n; i++) {
		size_t n_threads;
		pid_t *tids = thread_list(pids[i], &n_threads);

		add_stat(&usage, pids[i]);
		for (size_t k = 0; k < n_threads; k++)
			add_delays(&usage, pids[i], tids[k]);
		free(tids);
	}
	return usage;
}

void process_usage_free(struct process_usage *usage)
{
	idmap_free(&usage->processes, free);
	idmap_free(&usage->threads, free);
	*usage = (struct process_usage){};
}

/* Totals the growth of counts since an earlier moment. Returns the number of those with both. */
static size_t sum_growth(const struct idmap *before, const struct idmap *now, uint64_t sums[2])
{
	const struct used *used, *earlier;
	size_t n = 0;

	sums[0] = sums[1] = 0;
	for (size_t at = 0; (used = idmap_next(now, &at));) {
		earlier = idmap_find(before, used->id);
		if (!earlier || earlier->began != used->began ||
		    earlier->counts[0] > used->counts[0] || earlier->counts[1] > used->counts[1])
			continue;
		sums[0] += used->counts[0] - earlier->counts[0];
		sums[1] += used->counts[1] - earlier->counts[1];
		n++;
	}
	return n;
}

/* Returns the average wait for a CPU as text, freed by the caller; empty: none. */
static char *describe_delays(const struct process_usage *before, const struct process_usage *now)
{
	uint64_t sums[2];

	if (!sum_growth(&before->threads, &now->threads, sums) || !sums[1])
		return mem_strdup("");
	return mem_printf(", their waits for a CPU: %" PRIu64 ", average %.3f ms", sums[1],
			  (double)sums[0] / (double)sums[1] / NS_PER_MS);
}

char *process_usage_describe(const struct process_usage *before, const struct process_usage *now)
{
	uint64_t faults[2];
	char *delays, *text;

	if (!sum_growth(&before->processes, &now->processes, faults))
		return NULL;
	delays = describe_delays(before, now);
	text = mem_printf("resident: %.1f MiB (%+.1f), page faults: %" PRIu64 " (%" PRIu64
			  " major)  \nthreads: %zu (%+d)%s",
			  (double)now->resident_bytes / MIB,
			  ((double)now->resident_bytes - (double)before->resident_bytes) / MIB,
			  faults[0] + faults[1], faults[1], now->n_threads,
			  (int)(now->n_threads - before->n_threads), delays);
	free(delays);
	return text;
}
