// SPDX-License-Identifier: GPL-2.0-only
/* Perf events on all CPUs; see cpuevents.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "base/mem.h"
#include "base/msg.h"
#include "modules/cpuevents.h"

struct opening {
	struct cpu_events *events;
	const struct perf_event_attr *attr;
	uint32_t only_cpu;
	const struct bpf_program *program;
	int err; /* of an event, printed */
};

int cpu_event_open(const struct perf_event_attr *attr, uint32_t cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int report_refused_event(const struct perf_event_attr *attr, uint32_t cpu)
{
	int err = errno;

	msg_errno(err, "opening a perf event on CPU %u", cpu);
	msg_hint_of_perf(err);
	if (err == EINVAL && attr->freq)
		msg_hint("sysctl kernel.perf_event_max_sample_rate bounds the frequency");
	return -err;
}

static int attach_on_cpu(const struct opening *opening, uint32_t cpu)
{
	struct cpu_events *events = opening->events;
	struct bpf_link *link;
	int fd = cpu_event_open(opening->attr, cpu);

	if (fd < 0)
		return errno == ENODEV ? 0 : report_refused_event(opening->attr, cpu);
	link = bpf_program__attach_perf_event(opening->program, fd);
	if (!link) {
		close(fd);
		return msg_errno(errno, "attaching to the perf event of CPU %u", cpu);
	}
	events->items =
		mem_grow(events->items, events->count, &events->cap, sizeof(*events->items));
	/* The link owns the event: it is closed with it. */
	events->items[events->count++] = (struct cpu_event){ link, fcntl(fd, F_DUPFD_CLOEXEC, 0) };
	return 0;
}

static int open_on_cpu(uint32_t cpu, void *arg)
{
	struct opening *opening = arg;

	if (opening->only_cpu == ALL_CPUS || cpu == opening->only_cpu)
		opening->err = attach_on_cpu(opening, cpu);
	return opening->err;
}

int cpu_events_open(struct cpu_events *events, const struct perf_event_attr *attr, uint32_t cpu,
		    const struct bpf_program *program)
{
	struct opening opening = { events, attr, cpu, program, 0 };
	int err = cpulist_visit_online(open_on_cpu, &opening);

	return err && !opening.err ? msg_errno(err, "finding out which CPUs are online") : err;
}

static uint64_t close_event(const struct cpu_event *event)
{
	uint64_t count = 0;

	ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(event->fd, &count, sizeof(count)) != sizeof(count))
		count = 0;
	bpf_link__destroy(event->link);
	close(event->fd);
	return count;
}

uint64_t cpu_events_close(struct cpu_events *events)
{
	uint64_t count = 0;

	for (size_t i = 0; i < events->count; i++)
		count += close_event(&events->items[i]);
	free(events->items);
	memset(events, 0, sizeof(*events));
	return count;
}
