// SPDX-License-Identifier: GPL-2.0-only
/*
 * Process events through perf ring buffers, one per CPU; see process_events.h. The records of all
 * rings are read together, sorted by time and noted at once; the loop handles them later.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/cpulist.h"
#include "base/hotplug.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/order.h"
#include "process/process_events.h"

/* ---- event queue ---- */

#define USUAL_BYTES (256u << 10)
/* records further in the future are of another clock (time namespace): don't wait for their time */
#define CLOCKS_DIFFER_NS (60 * NS_PER_S)

void event_queue_free(struct event_queue *queue)
{
	free(queue->bytes);
	free(queue->items);
	*queue = (struct event_queue){};
}

char *event_queue_add(struct event_queue *queue, uint64_t time_ns, size_t size)
{
	size_t at = queue->n_bytes, need = at + size;

	while (queue->bytes_cap < need) {
		queue->bytes_cap = queue->bytes_cap ? 2 * queue->bytes_cap : 4096;
		queue->bytes = mem_realloc(queue->bytes, queue->bytes_cap, 1);
	}
	*MEM_APPEND(queue->items, queue->n_items, queue->items_cap) =
		(struct queued){ .time_ns = time_ns, .at = at, .size = size };
	queue->n_bytes = need;
	return queue->bytes + at;
}

const void *event_queue_record(const struct event_queue *queue, const struct queued *item)
{
	return queue->bytes + item->at;
}

/* Compares times, then positions: events of one CPU must stay in order. */
static int compare_items(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

void event_queue_sort(struct event_queue *queue)
{
	if (queue->n_items - queue->n_noted > 1)
		SORT(queue->items + queue->n_noted, queue->n_items - queue->n_noted, compare_items);
}

struct queued *event_queue_note(struct event_queue *queue, uint64_t until_ns)
{
	struct queued *item = queue->items + queue->n_noted;

	if (queue->n_noted == queue->n_items ||
	    (item->time_ns > until_ns && item->time_ns - until_ns < CLOCKS_DIFFER_NS))
		return NULL;
	queue->n_noted++;
	return item;
}

const struct queued *event_queue_handle(struct event_queue *queue)
{
	return queue->n_handled < queue->n_noted ? &queue->items[queue->n_handled++] : NULL;
}

/* Moves records not yet noted to a new queue, so that a queue that is never empty doesn't grow. */
static void move_rest(struct event_queue *queue)
{
	struct event_queue rest = {};

	for (size_t i = queue->n_noted; i < queue->n_items; i++) {
		const struct queued *item = &queue->items[i];

		memcpy(event_queue_add(&rest, item->time_ns, item->size),
		       event_queue_record(queue, item), item->size);
	}
	event_queue_free(queue);
	*queue = rest;
}

/* Also frees the memory that a burst took. */
void event_queue_drop(struct event_queue *queue)
{
	if (queue->n_noted < queue->n_items || queue->bytes_cap > USUAL_BYTES)
		move_rest(queue);
	else
		queue->n_bytes = queue->n_items = queue->n_noted = queue->n_handled = 0;
}

/* ---- process events ---- */

#define RING_BYTES (256 << 10)

struct ring {
	uint32_t cpu;
	int fd;
	struct perf_event_mmap_page *page;
	char *data;
};

struct process_events {
	struct process_event_user user;
	struct event_queue queue; /* records read from the rings */
	uint64_t taken_ns;	  /* events up to this time have been noted */
	struct ring *rings;
	size_t n_rings, rings_cap;
	struct hotplug hotplug;
	int epoll_fd; /* epoll set of all rings */
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
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC, /* the clock of bpf_ktime_get_ns() */
		.watermark = 1,		    /* not wakeup_events, which counts samples only */
		.wakeup_watermark = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_ring(uint32_t cpu, void *arg)
{
	struct process_events *sb = arg;
	long page_bytes = sysconf(_SC_PAGESIZE);
	struct epoll_event readable = { .events = EPOLLIN };
	struct ring ring = { .cpu = cpu, .fd = open_cpu_event(cpu) };

	if (ring.fd < 0)
		return errno == ENODEV ? 0 : -errno;
	ring.page = mmap(NULL, (size_t)page_bytes + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			 ring.fd, 0);
	if (ring.page == MAP_FAILED) {
		close(ring.fd);
		return -errno;
	}
	ring.data = (char *)ring.page + page_bytes;
	epoll_ctl(sb->epoll_fd, EPOLL_CTL_ADD, ring.fd, &readable);
	*MEM_APPEND(sb->rings, sb->n_rings, sb->rings_cap) = ring;
	return 0;
}

struct process_events *process_events_open(const struct process_event_user *user)
{
	struct process_events *sb = mem_zalloc(1, sizeof(*sb));
	int err;

	sb->user = *user;
	sb->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = cpulist_visit_online(open_ring, sb);
	if (err) {
		msg_errno(err, "process events: open failed");
		msg_hint_of_perf(err);
		process_events_close(sb);
		return NULL;
	}
	return sb;
}

static void close_ring(const struct ring *ring)
{
	munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
	close(ring->fd);
}

void process_events_close(struct process_events *sb)
{
	if (!sb)
		return;
	hotplug_close(&sb->hotplug);
	for (size_t i = 0; i < sb->n_rings; i++)
		close_ring(&sb->rings[i]);
	close(sb->epoll_fd);
	free(sb->rings);
	event_queue_free(&sb->queue);
	free(sb);
}

/* PERF_RECORD_FORK and PERF_RECORD_EXIT. */
struct task_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
};

struct id_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

/* PERF_RECORD_MMAP2. */
struct map_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char path[]; /* terminated by a zero byte */
};

/* ---- parsing of records ---- */

/* Returns the path as in /proc/PID/maps; "" if the kernel could not determine it. */
static const char *map_path(const struct map_record *record)
{
	static const char *const none[] = { "//anon", "//toolong", "//enomem" };

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (!strcmp(record->path, none[i]))
			return "";
	return record->path;
}

static struct process_event read_map(const struct map_record *record)
{
	return (struct process_event){
		.kind = PROCESS_MAP,
		.pid = (pid_t)record->pid,
		.tid = (pid_t)record->tid,
		.mapping = {
			.start = record->addr,
			.end = record->addr + record->len,
			.offset = record->pgoff,
			.dev = makedev(record->maj, record->min),
			.ino = record->ino,
			.path = (char *)map_path(record),
		},
	};
}

static struct process_event read_task(enum process_event_kind kind,
				      const struct task_record *record)
{
	return (struct process_event){
		.kind = kind,
		.pid = (pid_t)record->pid,
		.tid = (pid_t)record->tid,
		.parent = (pid_t)record->ppid,
	};
}

static struct process_event read_record(const struct perf_event_header *header)
{
	const struct task_record *task = (const void *)header;
	const struct id_record *id = (const void *)header;

	switch (header->type) {
	case PERF_RECORD_FORK:
		return read_task(task->pid == task->ppid ? PROCESS_THREAD : PROCESS_FORK, task);
	case PERF_RECORD_EXIT:
		return read_task(PROCESS_EXIT, task);
	case PERF_RECORD_COMM:
		if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC))
			break;
		return (struct process_event){ .kind = PROCESS_EXEC, .pid = (pid_t)id->pid };
	case PERF_RECORD_MMAP2:
		return read_map((const void *)header);
	case PERF_RECORD_LOST:
		return (struct process_event){ .kind = PROCESS_LOST };
	default:
		break;
	}
	return (struct process_event){ .kind = PROCESS_NOTHING };
}

/* ---- reading of rings ---- */

/* Copies from a ring; the bytes may wrap around its end. */
static void copy_from_ring(const struct ring *ring, uint64_t position, void *to, size_t size)
{
	size_t offset = position % RING_BYTES, first = RING_BYTES - offset;

	first = first < size ? first : size;
	memcpy(to, ring->data + offset, first);
	memcpy((char *)to + first, ring->data, size - first);
}

/* Moves all records of a ring to the queue. Each record ends with its time. */
static void take_ring(struct process_events *sb, struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail, time_ns;
	struct perf_event_header header;

	while (tail < head) {
		copy_from_ring(ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header) + sizeof(time_ns) || header.size % 8)
			break;
		copy_from_ring(ring, tail + header.size - sizeof(time_ns), &time_ns,
			       sizeof(time_ns));
		copy_from_ring(ring, tail, event_queue_add(&sb->queue, time_ns, header.size),
			       header.size);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static struct process_event event_of(const struct process_events *sb, const struct queued *item)
{
	struct process_event event = read_record(event_queue_record(&sb->queue, item));

	event.time_ns = item->time_ns;
	event.is_last = item->is_last;
	return event;
}

static void note_event(struct process_events *sb, struct queued *item)
{
	struct process_event event = event_of(sb, item);

	if (event.kind == PROCESS_NOTHING)
		return;
	sb->user.note(&event, sb->user.arg);
	item->is_last = event.is_last;
}

/* Notes all events up to now. Later ones wake the loop again, since it polled the rings before. */
static void take_all(struct process_events *sb)
{
	uint64_t now_ns = clock_now_ns();
	struct queued *item;

	for (size_t i = 0; i < sb->n_rings; i++)
		take_ring(sb, &sb->rings[i]);
	sb->taken_ns = now_ns;
	event_queue_sort(&sb->queue);
	while ((item = event_queue_note(&sb->queue, now_ns)))
		note_event(sb, item);
}

void process_events_take(struct process_events *sb, uint64_t time_ns)
{
	if (time_ns > sb->taken_ns)
		take_all(sb);
}

/* Handles all events in order, including events that a handler takes out of the rings. */
void process_events_read(struct process_events *sb)
{
	const struct queued *item;
	struct process_event event;

	take_all(sb);
	if (!sb->queue.n_noted)
		return;
	while ((item = event_queue_handle(&sb->queue))) {
		event = event_of(sb, item);
		if (event.kind != PROCESS_NOTHING)
			sb->user.handle(&event, sb->user.arg);
	}
	event_queue_drop(&sb->queue);
	sb->user.drained(sb->user.arg);
}

/*
 * The kernel reports each ring as readable only once, when it is polled, so the epoll set need not
 * be drained.
 */
static enum loop_verdict on_event(int fd, void *arg)
{
	(void)fd;
	process_events_read(arg);
	return LOOP_GO;
}

/* Replaces the ring of a CPU that went offline; events before the new ring are lost. */
static void on_cpu_changed(uint32_t cpu, bool is_online, void *arg)
{
	struct process_event lost = { .kind = PROCESS_LOST, .time_ns = clock_now_ns() };
	struct process_events *sb = arg;
	size_t i = 0;

	process_events_read(sb);
	while (i < sb->n_rings && sb->rings[i].cpu != cpu)
		i++;
	if (i < sb->n_rings) {
		close_ring(&sb->rings[i]);
		sb->rings[i] = sb->rings[--sb->n_rings];
	}
	if (!is_online)
		return;
	if (open_ring(cpu, sb))
		msg_debug("process events of CPU %u: not available, new processes are seen late",
			  cpu);
	sb->user.note(&lost, sb->user.arg);
	sb->user.handle(&lost, sb->user.arg);
	sb->user.drained(sb->user.arg);
}

int process_events_watch(struct process_events *sb, struct loop *loop)
{
	sb->hotplug = (struct hotplug){ .changed = on_cpu_changed, .arg = sb };
	hotplug_watch(&sb->hotplug, loop);
	return loop_watch(loop, sb->epoll_fd, on_event, sb);
}
