// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sampling: hardware cycles if the machine counts them, else the CPU clock, on every CPU that is
 * online. A CPU that goes away takes its event with it; one that comes is not sampled.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "cpulist.h"
#include "mem.h"
#include "msg.h"
#include "parse.h"
#include "sampler.h"

static uint32_t frequency_hz = 99, only_cpu;
static uint64_t period;
static const char *event_name;
static char event_text[64];

static struct perf_event_attr attr = { .size = sizeof(attr) };
static struct bpf_link **links;
static size_t n_links, links_cap;

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

static int open_event(uint32_t cpu)
{
	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
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
	fd = open_event(cpu);
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

static int configure_sampler(struct run *run)
{
	int err;

	attr.freq = !period;
	attr.sample_freq = period ? period : frequency_hz; /* in a union with sample_period */
	err = choose_event();
	if (!err)
		describe_event(run);
	return err;
}

static int report_refused_event(int err, uint32_t cpu)
{
	msg_errno(err, "opening a perf event on CPU %u", cpu);
	if (err == EINVAL && attr.freq)
		msg_hint("sysctl kernel.perf_event_max_sample_rate bounds the frequency");
	return -err;
}

static int attach_cpu(uint32_t cpu, void *arg)
{
	struct bpf_link *link;
	int fd;

	if (opts_given("cpu") && cpu != only_cpu)
		return 0;
	fd = open_event(cpu);
	if (fd < 0)
		return errno == ENODEV ? 0 : report_refused_event(errno, cpu);
	link = bpf_program__attach_perf_event(arg, fd);
	if (!link) {
		close(fd);
		return msg_errno(errno, "attaching to the perf event of CPU %u", cpu);
	}
	links = mem_grow(links, n_links, &links_cap, sizeof(*links));
	links[n_links++] = link;
	return 0;
}

int sampler_attach(struct run *run, const struct bpf_program *program)
{
	(void)run;
	return cpulist_visit_online(attach_cpu, (void *)program);
}

static void stop_sampler(struct run *run)
{
	(void)run;
	for (size_t i = 0; i < n_links; i++)
		bpf_link__destroy(links[i]);
	n_links = 0;
}

static void finish_sampler(struct run *run)
{
	stop_sampler(run);
	free(links);
}

const struct module sampler_module = {
	.title = "sampling",
	.opts = sampler_opts,
	.check = check_sampler,
	.configure = configure_sampler,
	.stop = stop_sampler,
	.finish = finish_sampler,
};
