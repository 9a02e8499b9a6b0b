// SPDX-License-Identifier: GPL-2.0-only
/* Perf events on all CPUs; see cpuevents.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/cpuevents.h"

struct opening {
	struct cpu_events *events;
	const struct cpu_event_kind *kind;
	int err; /* error of an event, printed; 0: none */
};

int cpu_event_open(const struct perf_event_attr *attr, uint32_t cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int report_refused_event(const struct perf_event_attr *attr, uint32_t cpu)
{
	int err = -errno;

	msg_errno(err, "perf event on CPU %u: open failed", cpu);
	msg_hint_of_perf(err);
	if (err == -EINVAL && attr->freq)
		msg_hint("lower the frequency, or raise sysctl kernel.perf_event_max_sample_rate");
	return err;
}

static int attach_on_cpu(struct cpu_events *events, const struct cpu_event_kind *kind, uint32_t cpu)
{
	uint32_t n_kind = (uint32_t)(kind - events->kinds);
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = kind->cookie);
	struct perf_event_attr attr = kind->attr;
	struct bpf_link *link;
	int fd = cpu_event_open(&attr, cpu);

	if (fd < 0)
		return errno == ENODEV ? 0 : report_refused_event(&attr, cpu);
	link = bpf_program__attach_perf_event_opts(kind->program, fd, &opts);
	if (!link) {
		close(fd);
		return msg_errno(-errno, "perf event on CPU %u: attach failed", cpu);
	}
	/* Duplicates the descriptor: the link closes its own. */
	*MEM_APPEND(events->items, events->count, events->cap) =
		(struct cpu_event){ link, fcntl(fd, F_DUPFD_CLOEXEC, 0), cpu, n_kind };
	return 0;
}

static bool is_for_cpu(const struct cpu_event_kind *kind, uint32_t cpu)
{
	return kind->cpu == ALL_CPUS || kind->cpu == cpu;
}

static int open_on_cpu(uint32_t cpu, void *arg)
{
	struct opening *opening = arg;

	if (is_for_cpu(opening->kind, cpu))
		opening->err = attach_on_cpu(opening->events, opening->kind, cpu);
	return opening->err;
}

int cpu_events_open(struct cpu_events *events, const struct perf_event_attr *attr, uint32_t cpu,
		    const struct bpf_program *program, uint64_t cookie)
{
	struct cpu_event_kind *kind = &events->kinds[events->n_kinds++];
	struct opening opening = { events, kind, 0 };
	int err;

	*kind = (struct cpu_event_kind){ *attr, cpu, program, cookie };
	err = cpulist_visit_online(open_on_cpu, &opening);
	return err && !opening.err ? msg_errno(err, "list of online CPUs: read failed") : err;
}

static uint64_t count_event(const struct cpu_event *event)
{
	uint64_t count;

	return read(event->fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static uint64_t close_event(const struct cpu_event *event)
{
	uint64_t count;

	ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
	count = count_event(event);
	bpf_link__destroy(event->link);
	close(event->fd);
	return count;
}

static void close_item(struct cpu_events *events, size_t i)
{
	events->closed_count += close_event(&events->items[i]);
	events->items[i] = events->items[--events->count];
}

static void close_cpu(struct cpu_events *events, uint32_t cpu)
{
	size_t i = 0;

	while (i < events->count)
		if (events->items[i].cpu == cpu)
			close_item(events, i);
		else
			i++;
}

static void open_cpu(struct cpu_events *events, uint32_t cpu)
{
	for (size_t i = 0; i < events->n_kinds; i++)
		if (is_for_cpu(&events->kinds[i], cpu))
			attach_on_cpu(events, &events->kinds[i], cpu);
	if (events->gone_ns && events->gone_cpu == cpu)
		msg_warn("CPU %u: was offline, not watched for %.3f s", cpu,
			 (double)(clock_now_ns() - events->gone_ns) / NS_PER_S);
	else
		msg_warn("CPU %u: came online, watched from now on", cpu);
}

static void on_cpu_changed(uint32_t cpu, bool is_online, void *arg)
{
	struct cpu_events *events = arg;

	if (events->kinds[0].cpu != ALL_CPUS && events->kinds[0].cpu != cpu)
		return;
	close_cpu(events, cpu);
	if (is_online) {
		open_cpu(events, cpu);
	} else {
		events->gone_cpu = cpu;
		events->gone_ns = clock_now_ns();
	}
}

void cpu_events_watch(struct cpu_events *events, struct loop *loop)
{
	int err;

	events->hotplug = (struct hotplug){ .changed = on_cpu_changed, .arg = events };
	err = hotplug_watch(&events->hotplug, loop);
	if (err)
		msg_debug("CPU hotplug: not watched: %s", strerror(-err));
}

void cpu_events_replace(struct cpu_events *events, const struct bpf_program *former,
			const struct bpf_program *program)
{
	for (size_t k = 0; k < events->n_kinds; k++) {
		if (events->kinds[k].program != former)
			continue;
		events->kinds[k].program = program;
		for (size_t i = events->count; i-- > 0;) {
			uint32_t cpu = events->items[i].cpu;

			if (events->items[i].n_kind != k)
				continue;
			close_item(events, i);
			attach_on_cpu(events, &events->kinds[k], cpu);
		}
	}
}

uint64_t cpu_events_count(const struct cpu_events *events)
{
	uint64_t count = events->closed_count;

	for (size_t i = 0; i < events->count; i++)
		count += count_event(&events->items[i]);
	return count;
}

uint64_t cpu_events_close(struct cpu_events *events)
{
	uint64_t count = events->closed_count;

	hotplug_close(&events->hotplug);
	for (size_t i = 0; i < events->count; i++)
		count += close_event(&events->items[i]);
	free(events->items);
	memset(events, 0, sizeof(*events));
	return count;
}
