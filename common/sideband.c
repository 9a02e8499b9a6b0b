// SPDX-License-Identifier: GPL-2.0-only
/* Process events through perf ring buffers; see sideband.h. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "cpulist.h"
#include "mem.h"
#include "msg.h"
#include "parse.h"
#include "sideband.h"

#define RING_BYTES   (256 << 10)
#define RECORD_BYTES 4096 /* an mmap record with its path at most */
/*
 * Events are read at once where little happens, since a process may block for good a millisecond
 * after it began. Where much happens they are left to gather.
 */
#define EAGER_READS    8 /* in each period */
#define EAGER_NS       (20 * NS_PER_MS)
#define BATCH_DELAY_NS (3 * NS_PER_MS)

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
	char *data;
};

struct sideband {
	struct sideband_handlers handlers;
	struct ring *rings;
	size_t n_rings, rings_cap;
	int epoll_fd; /* of all rings */
	int timer_fd;
	bool timer_armed;
	uint64_t period_ns; /* when it began */
	unsigned int n_eager;
};

static int open_cpu_event(uint32_t cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1, /* wakeup_events would count samples only */
		.wakeup_watermark = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_ring(uint32_t cpu, void *arg)
{
	struct sideband *sb = arg;
	long page_bytes = sysconf(_SC_PAGESIZE);
	struct epoll_event edge = { .events = EPOLLIN | EPOLLET };
	struct ring ring = { .fd = open_cpu_event(cpu) };

	if (ring.fd < 0)
		return errno == ENODEV ? 0 : -errno;
	ring.page = mmap(NULL, (size_t)page_bytes + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			 ring.fd, 0);
	if (ring.page == MAP_FAILED) {
		close(ring.fd);
		return -errno;
	}
	ring.data = (char *)ring.page + page_bytes;
	epoll_ctl(sb->epoll_fd, EPOLL_CTL_ADD, ring.fd, &edge);
	sb->rings = mem_grow(sb->rings, sb->n_rings, &sb->rings_cap, sizeof(*sb->rings));
	sb->rings[sb->n_rings++] = ring;
	return 0;
}

struct sideband *sideband_open(const struct sideband_handlers *handlers)
{
	struct sideband *sb = mem_zalloc(1, sizeof(*sb));
	int err;

	sb->handlers = *handlers;
	sb->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	sb->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = cpulist_visit_online(open_ring, sb);
	if (!err)
		return sb;
	msg_errno(err, "watching for new processes");
	sideband_close(sb);
	return NULL;
}

void sideband_close(struct sideband *sb)
{
	if (!sb)
		return;
	for (size_t i = 0; i < sb->n_rings; i++) {
		munmap(sb->rings[i].page, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
		close(sb->rings[i].fd);
	}
	close(sb->epoll_fd);
	close(sb->timer_fd);
	free(sb->rings);
	free(sb);
}

/* What FORK and EXIT records carry; the others begin with pid and tid too. */
struct task_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
};

struct id_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

static void handle_record(struct sideband *sb, const struct perf_event_header *header)
{
	const struct task_record *task = (const void *)header;
	const struct id_record *id = (const void *)header;
	void *arg = sb->handlers.arg;

	switch (header->type) {
	case PERF_RECORD_FORK:
		if (task->pid != task->ppid)
			sb->handlers.forked((pid_t)task->ppid, (pid_t)task->pid, arg);
		break;
	case PERF_RECORD_EXIT:
		if (task->pid == task->tid)
			sb->handlers.exited((pid_t)task->pid, arg);
		break;
	case PERF_RECORD_COMM:
		if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
			sb->handlers.changed((pid_t)id->pid, arg);
		break;
	case PERF_RECORD_MMAP2:
		sb->handlers.changed((pid_t)id->pid, arg);
		break;
	case PERF_RECORD_LOST:
		sb->handlers.lost(arg);
		break;
	default:
		break;
	}
}

/* Copies out what wraps around the ring's end. */
static void copy_from_ring(const struct ring *ring, uint64_t position, void *to, size_t size)
{
	size_t offset = position % RING_BYTES, first = RING_BYTES - offset;

	first = first < size ? first : size;
	memcpy(to, ring->data + offset, first);
	memcpy((char *)to + first, ring->data, size - first);
}

static bool read_ring(struct sideband *sb, struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail, start = tail;
	union {
		struct perf_event_header header;
		struct task_record task;
	} record;

	while (tail < head) {
		copy_from_ring(ring, tail, &record.header, sizeof(record.header));
		if (record.header.size < sizeof(record.header))
			break;
		copy_from_ring(ring, tail, &record,
			       record.header.size < sizeof(record) ? record.header.size
								   : sizeof(record));
		handle_record(sb, &record.header);
		tail += record.header.size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return tail != start;
}

void sideband_read(struct sideband *sb)
{
	bool any = false;

	for (size_t i = 0; i < sb->n_rings; i++)
		any |= read_ring(sb, &sb->rings[i]);
	if (any)
		sb->handlers.drained(sb->handlers.arg);
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	struct sideband *sb = arg;
	uint64_t expirations;

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	sb->timer_armed = false;
	sideband_read(sb);
	return LOOP_GO;
}

static bool may_be_eager(struct sideband *sb)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns - sb->period_ns > EAGER_NS) {
		sb->period_ns = now_ns;
		sb->n_eager = 0;
	}
	return sb->n_eager++ < EAGER_READS;
}

static enum loop_verdict on_event(int fd, void *arg)
{
	struct itimerspec delay = { .it_value.tv_nsec = (long)BATCH_DELAY_NS };
	struct epoll_event events[16];
	struct sideband *sb = arg;

	while (epoll_wait(fd, events, ARRAY_SIZE(events), 0) > 0)
		;
	if (sb->timer_armed)
		return LOOP_GO;
	if (may_be_eager(sb)) {
		sideband_read(sb);
		return LOOP_GO;
	}
	timerfd_settime(sb->timer_fd, 0, &delay, NULL);
	sb->timer_armed = true;
	return LOOP_GO;
}

int sideband_watch(struct sideband *sb, struct loop *loop)
{
	int err = loop_watch(loop, sb->timer_fd, on_timer, sb);

	return err ? err : loop_watch(loop, sb->epoll_fd, on_event, sb);
}
