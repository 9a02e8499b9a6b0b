// SPDX-License-Identifier: GPL-2.0-only
/* Samples every online CPU by hardware cycles if the machine counts them, else by the CPU clock. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/sampled.h"
#include "base/clock.h"
#include "base/cpulist.h"
#include "base/msg.h"
#include "base/parse.h"
#include "modules/cpuevents.h"
#include "modules/sampler.h"
#include "output/profile.h"
#include "run/bpfmap.h"

#define SPARSE_HZ    200
#define CLOCK_MIN_NS 50000
/* share of missed samples that causes a warning: less is normal on a virtual machine */
#define NEWS_PERCENT 2

struct sampler {
	uint32_t frequency_hz, only_cpu;
	uint64_t period;
	const char *event_name;
	char event_text[64];
	struct sample_period sample_period;
	struct perf_event_attr attr;
	struct cpu_events events;
};

static const struct sampler defaults = {
	.frequency_hz = 99,
	.attr = { .size = sizeof(defaults.attr), .disabled = 1 },
};

DEFINE_STATE(struct sampler, sampler_of, sampler_module)

static int parse_period(const char *what, const char *text, void *dest)
{
	return parse_uint(what, text, 1, INT64_MAX, dest);
}

static const struct opt sampler_opts[] = {
	{ 'F', "frequency", "HZ", OPT_UINT(struct sampler, frequency_hz, 1, 1000000),
	  "take HZ samples per second and CPU (default 99)", "count-period" },
	{ 'c', "count-period", "N", OPT_PARSED(struct sampler, period, parse_period),
	  "take a sample every N events (ns of cpu-clock)" },
	{ 0, "event", "EVENT", OPT_STRING(struct sampler, event_name),
	  "sample on cycles or cpu-clock (default: cycles if available)" },
	{ 'C', "cpu", "CPU", OPT_UINT(struct sampler, only_cpu, 0, UINT32_MAX),
	  "sample only this CPU" },
	{},
};

static int is_cpu(uint32_t cpu, void *arg)
{
	return cpu == *(uint32_t *)arg;
}

static int check_sampler(struct run *run)
{
	struct sampler *sampler = sampler_of(run);
	const char *event = sampler->event_name;

	if (event && strcmp(event, "cycles") && strcmp(event, "cpu-clock"))
		return msg_error("--event: '%s' is neither cycles nor cpu-clock", event);
	if (run_given(run, "cpu") && cpulist_visit_online(is_cpu, &sampler->only_cpu) != 1)
		return msg_error("--cpu: CPU %u is not online", sampler->only_cpu);
	return 0;
}

static void set_event(struct perf_event_attr *attr, bool cycles)
{
	attr->type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	attr->config = cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK;
}

static int first_cpu(uint32_t cpu, void *arg)
{
	*(uint32_t *)arg = cpu;
	return 1;
}

static bool has_cycles(struct perf_event_attr *attr)
{
	uint32_t cpu = 0;
	int fd;

	cpulist_visit_online(first_cpu, &cpu);
	set_event(attr, true);
	fd = cpu_event_open(attr, cpu);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int choose_event(struct sampler *sampler)
{
	const char *event = sampler->event_name;
	bool want_cycles = !event || !strcmp(event, "cycles");
	bool cycles = want_cycles && has_cycles(&sampler->attr);

	set_event(&sampler->attr, cycles);
	if (event && want_cycles && !cycles) {
		msg_error("--event cycles: not supported by this machine (use --event cpu-clock)");
		return -ENOENT;
	}
	return 0;
}

static bool samples_cycles(const struct sampler *sampler)
{
	return sampler->attr.type == PERF_TYPE_HARDWARE;
}

bool sampler_is_sparse(const struct run *run)
{
	const struct sampler *sampler = sampler_of(run);

	return !sampler->period && sampler->frequency_hz <= SPARSE_HZ;
}

bool sampler_is_by_time(const struct run *run)
{
	return !samples_cycles(sampler_of(run));
}

static void describe_event(struct run *run, struct sampler *sampler)
{
	char *text = sampler->event_text;
	bool cycles = samples_cycles(sampler);

	if (sampler->period)
		snprintf(text, sizeof(sampler->event_text), "one sample per %llu %s",
			 (unsigned long long)sampler->period,
			 cycles ? "cycles" : "ns of cpu-clock");
	else
		snprintf(text, sizeof(sampler->event_text), "%s at %u Hz",
			 cycles ? "cycles" : "cpu-clock", sampler->frequency_hz);
	run->event = text;
	msg_info("%s%s", sampler->period ? "" : "sampling ", text);
}

/* Sets run->period. With a frequency, the period is an average. */
static void describe_period(struct run *run, struct sampler *sampler)
{
	uint64_t period = sampler->period;
	bool counts_cycles = period && samples_cycles(sampler);

	sampler->sample_period = (struct sample_period){
		.type = counts_cycles ? "cycles" : "cpu",
		.unit = counts_cycles ? "count" : "nanoseconds",
		.value = period ? period : NS_PER_S / sampler->frequency_hz,
	};
	run->period = &sampler->sample_period;
}

/* Each sample interrupts the CPU: the kernel allows one per 10 us, which starves some machines. */
static int check_rate(const struct sampler *sampler)
{
	if (samples_cycles(sampler))
		return 0;
	if (sampler->period && sampler->period < CLOCK_MIN_NS)
		return msg_error("--count-period: cpu-clock needs at least %d ns", CLOCK_MIN_NS);
	if (!sampler->period && sampler->frequency_hz > NS_PER_S / CLOCK_MIN_NS)
		return msg_error("--frequency: cpu-clock allows at most %llu Hz",
				 NS_PER_S / CLOCK_MIN_NS);
	return 0;
}

static int configure_sampler(struct run *run)
{
	struct sampler *sampler = sampler_of(run);
	bool by_clock;
	int err;

	sampler->attr.freq = !sampler->period;
	sampler->attr.sample_freq = /* a union with sample_period */
		sampler->period ? sampler->period : sampler->frequency_hz;
	err = choose_event(sampler);
	if (!err)
		err = check_rate(sampler);
	if (err)
		return err;
	describe_event(run, sampler);
	describe_period(run, sampler);
	by_clock = !samples_cycles(sampler);
	return map_set_settings(run, ".rodata.sampled", &by_clock, sizeof(by_clock));
}

static int attach_sampler(struct run *run)
{
	const struct sampler_spec *spec = run_spec(run, &sampler_module);
	struct sampler *sampler = sampler_of(run);

	cpu_events_watch(&sampler->events, run->loop);
	return cpu_events_open(&sampler->events, &sampler->attr,
			       run_given(run, "cpu") ? sampler->only_cpu : ALL_CPUS,
			       bpf_object__find_program_by_name(run->object, spec->program), 0);
}

static void replace_program(struct run *run, const struct bpf_program *former,
			    const struct bpf_program *program)
{
	cpu_events_replace(&sampler_of(run)->events, former, program);
}

/* Returns the totals over all CPUs. */
static struct sampled read_sampled(const struct run *run)
{
	struct sampled all = {};

	map_sum_cpus(run, "sampled", &all, SAMPLED_SUMS);
	return all;
}

/*
 * Returns the missed samples, by the count of cycles, without the incomplete period of each event.
 */
static uint64_t missed_cycles(const struct sampled *all, uint64_t came, size_t n_events)
{
	double period = all->n ? (double)all->periods / (double)all->n : 0;
	uint64_t due = period > 0 ? (uint64_t)((double)came / period) : 0;

	return due > all->n + n_events ? due - all->n - n_events : 0;
}

/* Updates run->losses.missed, which never decreases. */
static void compare(struct run *run, const struct sampled *all, uint64_t came, size_t n_events)
{
	uint64_t missed = 0;

	if (samples_cycles(sampler_of(run)))
		missed = missed_cycles(all, came, n_events);
	else if (all->missed > 0)
		missed = (uint64_t)all->missed;
	if (missed > run->losses.missed)
		run->losses.missed = missed;
}

void sampler_count_missed(struct run *run)
{
	const struct cpu_events *events = &sampler_of(run)->events;
	struct sampled all = read_sampled(run);

	compare(run, &all, cpu_events_count(events), events->count);
}

static void print_share(uint64_t n, uint64_t of, const char *text)
{
	double percent = of ? 100 * (double)n / (double)of : 0;

	if (percent >= NEWS_PERCENT)
		msg_warn("%.1f %% of samples %s", percent, text);
	else
		msg_debug("%.3f %% of samples %s", percent, text);
}

static void stop_sampler(struct run *run)
{
	struct cpu_events *events = &sampler_of(run)->events;
	size_t n_events = events->count;
	uint64_t came = cpu_events_close(events);
	struct sampled all;

	if (!n_events)
		return;
	all = read_sampled(run);
	compare(run, &all, came, n_events);
	print_share(run->losses.missed, all.n + run->losses.missed,
		    "lost: another BPF program was running on that CPU, or the timer was late");
	print_share(all.entries, all.n, "have no user stack: the CPU was entering the kernel");
}

const struct module sampler_module = {
	.title = "sampling",
	.opts = sampler_opts,
	.state = DEFAULTS(defaults),
	.check = check_sampler,
	.configure = configure_sampler,
	.attach = attach_sampler,
	.replace = replace_program,
	.stop = stop_sampler,
};
