// SPDX-License-Identifier: GPL-2.0-only
/* The rate of calls and what they cost; see leak_rate.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "memleak/leak_options.h"
#include "memleak/leak_rate.h"
#include "output/quantity.h"
#include "probes/probe_samples.h"
#include "process/procmaps.h"
#include "run/bpfmap.h"

#define TICKS_PER_S   4
#define STATS_TICKS   4	   /* the time in BPF is measured for at least so long, */
#define STATS_CALLS   1000 /* and for so many calls, */
#define STATS_ALLOCS  100  /* some of them dear ones: a window's; measuring costs time, too */
#define PRICE_CALLS   200
#define PRICE_BATCHES 5

struct leak_rate {
	struct run *run;
	uint32_t max_rate;
	int timer_fd;

	struct moment {
		uint64_t ns, n_calls;
	} moments[TICKS_PER_S]; /* of the last ticks */
	uint32_t n_ticks;

	double alloc_price_ns, free_price_ns; /* of the probes, without BPF */
	bool is_priced;

	int stats_fd; /* -1: the kernel doesn't measure the time in BPF now */
	uint32_t stats_ticks;
	struct memleak_counts stats_first;
	uint64_t stats_first_ns;
	double bpf_ns; /* in BPF, per hit of a probe; 0: not known */
};

/* ---- counts ---- */

struct memleak_counts leak_rate_counts(const struct run *run)
{
	struct memleak_counts sum;

	map_sum_cpus(run, "memleak_counts", &sum, sizeof(sum) / sizeof(uint64_t));
	return sum;
}

static uint64_t calls_in(const struct memleak_counts *counts)
{
	return counts->allocs + counts->frees;
}

/* ---- the price of a probe ---- */

static uint64_t own_file_offset(uint64_t addr)
{
	const struct mapping *m;
	struct mappings maps;
	uint64_t offset = 0;

	if (mappings_read(&maps, getpid()))
		return 0;
	m = mappings_find(&maps, addr);
	if (m)
		offset = addr - m->start + m->offset;
	mappings_free(&maps);
	return offset;
}

static double time_calls(void (*function)(void))
{
	double best_ns = 0, ns;
	uint64_t start_ns;

	for (int batch = 0; batch < PRICE_BATCHES; batch++) {
		start_ns = clock_now_ns();
		for (int i = 0; i < PRICE_CALLS; i++)
			function();
		ns = (double)(clock_now_ns() - start_ns) / PRICE_CALLS;
		best_ns = batch && best_ns < ns ? best_ns : ns;
	}
	return best_ns;
}

/* 0 where it can't be measured. */
static double measure_price(const struct leak_probes *probes, enum probe_kind place,
			    bool wants_return)
{
	struct uprobe_point point = {
		.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		.offset = own_file_offset((uintptr_t)probe_samples[place]),
		.cookie = wants_return ? MEMLEAK_PRICE : MEMLEAK_PRICE_OF_ENTRY,
		.wants_return = wants_return,
	};
	struct uprobes *link = point.fd < 0 ? NULL : leak_probes_attach_own(probes, &point);
	double ns = link ? time_calls(probe_samples[place]) : 0;

	uprobes_detach(link);
	if (point.fd >= 0)
		close(point.fd);
	return ns;
}

static void measure_prices(struct leak_rate *rate, const struct leak_probes *probes)
{
	rate->alloc_price_ns = measure_price(probes, leak_probes_place(probes, false), true);
	rate->free_price_ns = measure_price(probes, leak_probes_place(probes, true), false);
	msg_debug("a probe costs %.0f ns on functions that allocate, %.0f ns on those that free",
		  rate->alloc_price_ns, rate->free_price_ns);
}

/* ---- the time in BPF ---- */

static uint64_t read_run_ns(const struct run *run)
{
	struct bpf_program *prog;
	uint64_t sum_ns = 0;

	bpf_object__for_each_program(prog, run->object) {
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			sum_ns += info.run_time_ns;
	}
	return sum_ns;
}

static uint64_t hits_in(const struct memleak_counts *counts)
{
	return calls_in(counts) + counts->passed + counts->foreign;
}

static void begin_stats(struct leak_rate *rate)
{
	rate->stats_first = leak_rate_counts(rate->run);
	rate->stats_first_ns = read_run_ns(rate->run);
	rate->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
}

static void end_stats(struct leak_rate *rate, const struct memleak_counts *counts)
{
	uint64_t hits = hits_in(counts) - hits_in(&rate->stats_first);

	if (rate->stats_fd < 0)
		return;
	if (hits)
		rate->bpf_ns =
			(double)(read_run_ns(rate->run) - rate->stats_first_ns) / (double)hits;
	close(rate->stats_fd);
	rate->stats_fd = -1;
	msg_debug("%.0f ns in BPF at each of %llu probes", rate->bpf_ns, (unsigned long long)hits);
}

static bool has_enough_stats(const struct leak_rate *rate, const struct memleak_counts *counts)
{
	return rate->stats_ticks >= STATS_TICKS &&
	       hits_in(counts) - hits_in(&rate->stats_first) >= STATS_CALLS &&
	       counts->allocs - rate->stats_first.allocs >= STATS_ALLOCS;
}

void leak_rate_calibrate(struct leak_rate *rate, const struct leak_probes *probes)
{
	if (probes)
		measure_prices(rate, probes);
	rate->is_priced = !probes || (rate->alloc_price_ns > 0 && rate->free_price_ns > 0);
	begin_stats(rate);
}

/* ---- ticks ---- */

/* Calls of the last second: of fewer ticks at the beginning, of more time where one is late. */
static enum loop_verdict check_rate(struct leak_rate *rate, const struct memleak_counts *counts)
{
	struct moment *oldest = &rate->moments[++rate->n_ticks % TICKS_PER_S];
	uint64_t now_ns = clock_now_ns(), n = calls_in(counts) - oldest->n_calls;
	double seconds = (double)(now_ns - oldest->ns) / (double)NS_PER_S;
	const struct leak_options *options = rate->run->options;

	*oldest = (struct moment){ now_ns, calls_in(counts) };
	if (!rate->max_rate || (double)n <= rate->max_rate * (seconds > 1 ? seconds : 1))
		return LOOP_GO;
	msg_warn("%llu calls in %.2f s, more than --max-rate %u: detached", (unsigned long long)n,
		 seconds, rate->max_rate);
	if (now_ns - rate->run->start_ns < options->min_age_ns)
		msg_hint("no block is as old as --older yet: -o 0 shows all");
	return LOOP_STOP;
}

static enum loop_verdict on_tick(int fd, void *arg)
{
	struct leak_rate *rate = arg;
	struct memleak_counts counts;
	uint64_t expirations;

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	counts = leak_rate_counts(rate->run);
	rate->stats_ticks += rate->stats_fd >= 0;
	if (has_enough_stats(rate, &counts))
		end_stats(rate, &counts);
	return check_rate(rate, &counts);
}

struct leak_rate *leak_rate_new(struct run *run, uint32_t max_rate)
{
	struct leak_rate *rate = mem_zalloc(1, sizeof(*rate));

	*rate = (struct leak_rate){ .run = run, .max_rate = max_rate, .stats_fd = -1 };
	for (size_t i = 0; i < TICKS_PER_S; i++)
		rate->moments[i].ns = clock_now_ns();
	rate->timer_fd = loop_every(run->loop, NS_PER_S / TICKS_PER_S, on_tick, rate);
	if (rate->timer_fd >= 0)
		return rate;
	msg_errno(rate->timer_fd, "making a timer");
	leak_rate_free(rate);
	return NULL;
}

void leak_rate_free(struct leak_rate *rate)
{
	if (!rate)
		return;
	if (rate->timer_fd >= 0)
		close(rate->timer_fd);
	if (rate->stats_fd >= 0)
		close(rate->stats_fd);
	free(rate);
}

/* ---- the end ---- */

/* 0: not known. */
static double cost_ns(const struct leak_rate *rate, const struct memleak_counts *counts)
{
	double entries = (double)(counts->frees + counts->passed);
	double hits = (double)(calls_in(counts) + counts->passed);

	if (!rate->is_priced || rate->bpf_ns <= 0)
		return 0;
	return (double)counts->allocs * rate->alloc_price_ns + entries * rate->free_price_ns +
	       hits * rate->bpf_ns;
}

void leak_rate_print(struct leak_rate *rate)
{
	double duration_ns = (double)(rate->run->end_ns - rate->run->start_ns), percent;
	struct memleak_counts counts = leak_rate_counts(rate->run);
	unsigned long long n = calls_in(&counts);
	char share[64] = "", unit[QUANTITY_MAX];

	end_stats(rate, &counts);
	percent = 100 * cost_ns(rate, &counts) / duration_ns;
	if (percent >= 0.005)
		snprintf(share, sizeof(share), ", about %.*f %% of one CPU", percent < 10 ? 2 : 0,
			 percent);
	else if (percent > 0)
		snprintf(share, sizeof(share), ", less than 0.01 %% of one CPU");
	msg_info("%llu %s traced, %.0f/s%s", n, quantity_unit(unit, n, "calls"),
		 (double)n * (double)NS_PER_S / duration_ns, share);
	if (counts.foreign)
		msg_info("calls of processes that are not traced met a probe, too, and were "
			 "slowed down: %llu (--follow probes files for all processes)",
			 (unsigned long long)counts.foreign);
}
