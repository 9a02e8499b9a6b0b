// SPDX-License-Identifier: GPL-2.0-only
/* The rate of calls; see leak_rate.h. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "memleak/leak_options.h"
#include "memleak/leak_rate.h"
#include "output/quantity.h"
#include "run/bpfmap.h"

#define TICKS_PER_S 4

struct leak_rate {
	struct run *run;
	uint32_t max_rate;
	int timer_fd;

	struct moment {
		uint64_t ns, n_calls;
	} moments[TICKS_PER_S]; /* of the last ticks */
	uint32_t n_ticks;
};

/* ---- counts ---- */

static struct memleak_counts read_counts(const struct run *run)
{
	struct memleak_counts sum;

	map_sum_cpus(run, "memleak_counts", &sum, sizeof(sum) / sizeof(uint64_t));
	return sum;
}

static uint64_t calls_in(const struct memleak_counts *counts)
{
	return counts->allocs + counts->frees;
}

/* ---- ticks ---- */

/*
 * Compares the calls of the last second with --max-rate: of fewer ticks at the start, of a longer
 * time after a late tick.
 */
static enum loop_verdict check_rate(struct leak_rate *rate)
{
	struct memleak_counts counts = read_counts(rate->run);
	struct moment *oldest = &rate->moments[++rate->n_ticks % TICKS_PER_S];
	uint64_t now_ns = clock_now_ns(), n = calls_in(&counts) - oldest->n_calls;
	double seconds = (double)(now_ns - oldest->ns) / (double)NS_PER_S;
	const struct leak_options *options = rate->run->options;

	*oldest = (struct moment){ now_ns, calls_in(&counts) };
	if (!rate->max_rate || (double)n <= rate->max_rate * (seconds > 1 ? seconds : 1))
		return LOOP_GO;
	msg_warn("detached: %llu calls in %.2f s exceed --max-rate %u", (unsigned long long)n,
		 seconds, rate->max_rate);
	if (now_ns - rate->run->start_ns < options->min_age_ns)
		msg_hint("use -o 0 to see blocks younger than --older");
	return LOOP_STOP;
}

static enum loop_verdict on_tick(int fd, void *arg)
{
	struct leak_rate *rate = arg;
	uint64_t expirations;

	return read(fd, &expirations, sizeof(expirations)) < 0 ? LOOP_GO : check_rate(rate);
}

struct leak_rate *leak_rate_new(struct run *run, uint32_t max_rate)
{
	struct leak_rate *rate = mem_zalloc(1, sizeof(*rate));

	*rate = (struct leak_rate){ .run = run, .max_rate = max_rate };
	for (size_t i = 0; i < TICKS_PER_S; i++)
		rate->moments[i].ns = clock_now_ns();
	rate->timer_fd = loop_every(run->loop, NS_PER_S / TICKS_PER_S, on_tick, rate);
	if (rate->timer_fd >= 0)
		return rate;
	msg_errno(rate->timer_fd, "timer: setup failed");
	leak_rate_free(rate);
	return NULL;
}

void leak_rate_free(struct leak_rate *rate)
{
	if (!rate)
		return;
	if (rate->timer_fd >= 0)
		close(rate->timer_fd);
	free(rate);
}

/* ---- the end ---- */

void leak_rate_print(const struct leak_rate *rate)
{
	double duration_ns = (double)(rate->run->end_ns - rate->run->start_ns);
	struct memleak_counts counts = read_counts(rate->run);
	unsigned long long n = calls_in(&counts);
	char unit[QUANTITY_MAX];

	msg_info("%llu %s traced, %.0f/s", n, quantity_unit(unit, n, "calls"),
		 (double)n * (double)NS_PER_S / duration_ns);
	if (counts.foreign)
		msg_info("%llu calls in untraced processes also hit the probes (--follow probes "
			 "files in all processes)",
			 (unsigned long long)counts.foreign);
}
