// SPDX-License-Identifier: GPL-2.0-only
/* Use of memory and CPUs; see process_usage.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "process/process_usage.h"
#include "process/procstate.h"

#define MIB (1 << 20)

/* Two counts of a process or thread. */
struct used {
	uint64_t id, pid, began_ticks; /* began_ticks: the process's */
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

static void add_threads(struct process_usage *usage, struct used process)
{
	size_t n;
	pid_t pid = (pid_t)process.pid, *tids = thread_list(pid, &n);
	struct thread_times times;

	for (size_t i = 0; i < n; i++)
		if (thread_times_read(&times, pid, tids[i]))
			add_used(&usage->threads,
				 (struct used){ (uint64_t)tids[i],
						process.pid,
						process.began_ticks,
						{ times.waited_ns, times.arrivals } });
	free(tids);
}

static void add_process(struct process_usage *usage, pid_t pid)
{
	struct process_stat stat;
	struct used used;

	if (!process_stat_read(&stat, pid))
		return;
	used = (struct used){ (uint64_t)pid,
			      (uint64_t)pid,
			      stat.start_ticks,
			      { stat.minor_faults, stat.major_faults } };
	add_used(&usage->processes, used);
	add_threads(usage, used);
	usage->n_threads += stat.n_threads;
	usage->resident_bytes += stat.resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Returns the time since boot as in proc_pid_stat(5). */
static uint64_t ticks_since_boot(void)
{
	struct timespec now = {};

	clock_gettime(CLOCK_BOOTTIME, &now);
	return ((uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec) /
	       (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

struct process_usage process_usage_read(const pid_t *pids, size_t n)
{
	struct process_usage usage = { .moment_ticks = ticks_since_boot() };

	for (size_t i = 0; i < n; i++)
		add_process(&usage, pids[i]);
	return usage;
}

void process_usage_free(struct process_usage *usage)
{
	idmap_free(&usage->processes, free);
	idmap_free(&usage->threads, free);
	*usage = (struct process_usage){};
}

static bool is_same_process(const struct used *a, const struct used *b)
{
	return a && a->pid == b->pid && a->began_ticks == b->began_ticks;
}

/* Returns true for a process, or a thread of it, that existed before, or has begun since. */
static bool has_known_start(const struct process_usage *before, const struct used *used)
{
	return used->began_ticks > before->moment_ticks ||
	       is_same_process(idmap_find(&before->processes, used->pid), used);
}

/* Totals the growth of counts since an earlier moment. Returns the number of those known. */
static size_t sum_growth(const struct process_usage *before, const struct idmap *earlier_counts,
			 const struct idmap *now, uint64_t sums[2])
{
	static const struct used none;
	const struct used *used, *earlier;
	size_t n = 0;

	sums[0] = sums[1] = 0;
	for (size_t at = 0; (used = idmap_next(now, &at));) {
		earlier = idmap_find(earlier_counts, used->id);
		if (!is_same_process(earlier, used))
			earlier = &none;
		if (!has_known_start(before, used) || earlier->counts[0] > used->counts[0] ||
		    earlier->counts[1] > used->counts[1])
			continue;
		sums[0] += used->counts[0] - earlier->counts[0];
		sums[1] += used->counts[1] - earlier->counts[1];
		n++;
	}
	return n;
}

uint64_t process_usage_waited_ns(const struct process_usage *before,
				 const struct process_usage *now)
{
	uint64_t sums[2];

	sum_growth(before, &before->threads, &now->threads, sums);
	return sums[0];
}

/* Returns the average wait for a CPU as text, freed by the caller; empty: none. */
static char *describe_delays(const struct process_usage *before, const struct process_usage *now)
{
	uint64_t sums[2];

	if (!sum_growth(before, &before->threads, &now->threads, sums) || !sums[1])
		return mem_strdup("");
	return mem_printf(", their waits for a CPU: %" PRIu64 ", average %.3f ms", sums[1],
			  (double)sums[0] / (double)sums[1] / NS_PER_MS);
}

/* Returns the growth of memory as text, freed by the caller; empty: the processes changed. */
static char *describe_growth(const struct process_usage *before, const struct process_usage *now)
{
	const struct used *used;

	for (size_t at = 0; (used = idmap_next(&now->processes, &at));)
		if (!is_same_process(idmap_find(&before->processes, used->id), used))
			return mem_strdup("");
	if (before->processes.count != now->processes.count)
		return mem_strdup("");
	return mem_printf(" (%+.1f)",
			  ((double)now->resident_bytes - (double)before->resident_bytes) / MIB);
}

char *process_usage_describe(const struct process_usage *before, const struct process_usage *now,
			     bool has_delays)
{
	uint64_t faults[2];
	char *growth, *delays, *text;

	if (!sum_growth(before, &before->processes, &now->processes, faults))
		return NULL;
	growth = describe_growth(before, now);
	delays = has_delays ? describe_delays(before, now) : mem_strdup("");
	text = mem_printf("resident: %.1f MiB%s, page faults: %" PRIu64 " (%" PRIu64
			  " major)  \nthreads: %zu (%+d)%s",
			  (double)now->resident_bytes / MIB, growth, faults[0] + faults[1],
			  faults[1], now->n_threads, (int)(now->n_threads - before->n_threads),
			  delays);
	free(growth);
	free(delays);
	return text;
}
