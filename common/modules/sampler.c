// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sampling: hardware cycles if the machine counts them, else the CPU clock, on every CPU that is
 * online.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "modules/cpuevents.h"
#include "base/cpulist.h"
#include "base/msg.h"
#include "base/parse.h"
#include "output/profile.h"
#include "modules/sampler.h"

static uint32_t frequency_hz = 99, only_cpu;
static uint64_t period;
static const char *event_name;
static char event_text[64];
static struct sample_period sample_period;

static struct perf_event_attr attr = { .size = sizeof(attr) };
static struct cpu_events events;

static int parse_period(const char *what, const char *text, void *dest);

static const struct opt sampler_opts[] = {
	{ 'F', "frequency", "HZ", OPT_UINT(&frequency_hz, 1, 1000000),
	  "samples per second and CPU (default 99)", "count-period" },
	{ 'c', "count-period", "N", OPT_PARSED(parse_period, &period),
	  "a sample every N events (ns of cpu-clock)" },
	{ 0, "event", "EVENT", OPT_STRING(&event_name),
	  "cycles or cpu-clock (default: cycles where the machine counts them)" },
	{ 'C', "cpu", "CPU", OPT_UINT(&only_cpu, 0, UINT32_MAX), "only that CPU" },
	{},
};

static int parse_period(const char *what, const char *text, void *dest)
{
	return parse_uint(what, text, 1, INT64_MAX, dest);
}

static int is_cpu(uint32_t cpu, void *arg)
{
	return cpu == *(uint32_t *)arg;
}

static int check_sampler(struct run *run)
{
	(void)run;
	if (event_name && strcmp(event_name, "cycles") && strcmp(event_name, "cpu-clock"))
		return msg_error("--event: '%s' is neither cycles nor cpu-clock", event_name);
	if (opts_given("cpu") && cpulist_visit_online(is_cpu, &only_cpu) != 1)
		return msg_error("--cpu: there is no CPU %u online", only_cpu);
	return 0;
}

static void set_event(bool cycles)
{
	attr.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	attr.config = cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK;
}

static int first_cpu(uint32_t cpu, void *arg)
{
	*(uint32_t *)arg = cpu;
	return 1;
}

static bool has_cycles(void)
{
	uint32_t cpu = 0;
	int fd;

	cpulist_visit_online(first_cpu, &cpu);
	set_event(true);
	fd = cpu_event_open(&attr, cpu);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int choose_event(void)
{
	bool want_cycles = !event_name || !strcmp(event_name, "cycles");
	bool cycles = want_cycles && has_cycles();

	set_event(cycles);
	if (event_name && want_cycles && !cycles) {
		msg_error("--event cycles: this machine does not count cycles");
		msg_hint("--event cpu-clock works everywhere");
		return -ENOENT;
	}
	return 0;
}

static void describe_event(struct run *run)
{
	bool cycles = attr.type == PERF_TYPE_HARDWARE;

	if (period)
		snprintf(event_text, sizeof(event_text), "one sample per %llu %s",
			 (unsigned long long)period, cycles ? "cycles" : "ns of cpu-clock");
	else
		snprintf(event_text, sizeof(event_text), "%s at %u Hz",
			 cycles ? "cycles" : "cpu-clock", frequency_hz);
	run->event = event_text;
	msg_info("%s%s", period ? "" : "sampling ", event_text);
}

/* At a frequency, the period is an average. */
static void tell_period(struct run *run)
{
	bool counts_cycles = period && attr.type == PERF_TYPE_HARDWARE;

	sample_period.type = counts_cycles ? "cycles" : "cpu";
	sample_period.unit = counts_cycles ? "count" : "nanoseconds";
	sample_period.value = period ? period : NS_PER_S / frequency_hz;
	run->period = &sample_period;
}

static int configure_sampler(struct run *run)
{
	int err;

	attr.freq = !period;
	attr.sample_freq = period ? period : frequency_hz; /* in a union with sample_period */
	err = choose_event();
	if (err)
		return err;
	describe_event(run);
	tell_period(run);
	return 0;
}

int sampler_attach(struct run *run, const struct bpf_program *program)
{
	(void)run;
	return cpu_events_open(&events, &attr, opts_given("cpu") ? only_cpu : ALL_CPUS, program);
}

static void stop_sampler(struct run *run)
{
	(void)run;
	cpu_events_close(&events);
}

const struct module sampler_module = {
	.title = "sampling",
	.opts = sampler_opts,
	.check = check_sampler,
	.configure = configure_sampler,
	.stop = stop_sampler,
};
