// SPDX-License-Identifier: GPL-2.0-only
/* Passes the kernel's process events to the table and to subscribers; see watch.h. */
#include <assert.h>
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
#include "process/procmaps.h"
#include "process/watch.h"

/*
 * The kernel's events come without BPF: one software event per CPU that counts nothing and carries
 * fork, exec, exit and executable mappings (perf_event_open(2), PERF_COUNT_SW_DUMMY). The records
 * of all rings are read together, sorted by time and noted at once; the loop handles them later.
 */

enum process_event_kind {
	PROCESS_NOTHING,
	PROCESS_FORK,	/* new process pid, child of parent */
	PROCESS_THREAD, /* new thread tid of process pid */
	PROCESS_EXEC,
	PROCESS_MAP,  /* new executable mapping */
	PROCESS_EXIT, /* exit of thread tid of process pid */
	PROCESS_LOST, /* events were lost */
};

struct process_event {
	enum process_event_kind kind;
	pid_t pid, tid, parent;
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	struct mapping mapping; /* mapping of PROCESS_MAP; path valid until the callback returns */
	bool is_last;		/* set by note_event(): exit of the last thread */
};

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

/* ---- what is watched ---- */

#define CHECK_NS   (100 * NS_PER_MS)
#define RING_BYTES (256 << 10)

struct ring {
	uint32_t cpu;
	int fd;
	struct perf_event_mmap_page *page;
	char *data;
};

struct watch {
	struct event_queue queue; /* records read from the rings */
	uint64_t taken_ns;	  /* events up to this time have been noted */
	struct ring *rings;
	size_t n_rings, rings_cap;
	struct hotplug hotplug;
	int epoll_fd; /* epoll set of all rings */

	struct processes *processes;
	struct watch_handlers subscribers[4];
	size_t n_subscribers;
	pid_t *leaderless; /* processes whose exit may cause no event */
	size_t n_leaderless, leaderless_cap;
	pid_t *doubted; /* processes that may have ended while events were lost */
	size_t n_doubted, doubted_cap;
	bool has_lost; /* events were lost in this batch */
	uint64_t checked_ns;
};

/* ---- into the table ---- */

static void add_leaderless(struct watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->n_leaderless; i++)
		if (watch->leaderless[i] == pid)
			return;
	*MEM_APPEND(watch->leaderless, watch->n_leaderless, watch->leaderless_cap) = pid;
}

static void doubt(pid_t pid, void *arg)
{
	struct watch *watch = arg;

	*MEM_APPEND(watch->doubted, watch->n_doubted, watch->doubted_cap) = pid;
}

/* Lists the live processes, anew with each loss: a CPU may lose events several times in a batch. */
static void note_loss(struct watch *watch)
{
	watch->n_doubted = 0;
	processes_visit_living(watch->processes, doubt, watch);
	processes_clear(watch->processes);
}

static void note(struct watch *watch, struct process_event *event)
{
	struct processes *processes = watch->processes;

	switch (event->kind) {
	case PROCESS_FORK:
		processes_fork(processes, event->parent, event->pid, event->time_ns);
		break;
	case PROCESS_THREAD:
		processes_thread(processes, event->pid);
		break;
	case PROCESS_EXEC:
		processes_exec(processes, event->pid, event->time_ns);
		break;
	case PROCESS_MAP:
		if (event->mapping.end > event->mapping.start)
			processes_map(processes, event->pid, &event->mapping, event->time_ns);
		break;
	case PROCESS_EXIT:
		event->is_last =
			processes_exit_thread(processes, event->pid, event->tid, event->time_ns);
		if (!event->is_last && processes_is_leaderless(processes, event->pid))
			add_leaderless(watch, event->pid);
		break;
	case PROCESS_LOST:
		note_loss(watch);
		break;
	default:
		break;
	}
}

/* ---- to the subscribers ---- */

#define FOR_EACH_SUBSCRIBER(s, watch)                               \
	for (const struct watch_handlers *s = (watch)->subscribers; \
	     s < (watch)->subscribers + (watch)->n_subscribers; s++)

static void report_fork(const struct watch *watch, pid_t parent, pid_t child)
{
	FOR_EACH_SUBSCRIBER(s, watch)
	if (s->forked)
		s->forked(parent, child, s->arg);
}

static void report_exec(const struct watch *watch, pid_t pid)
{
	FOR_EACH_SUBSCRIBER(s, watch)
	if (s->executed)
		s->executed(pid, s->arg);
}

static void report_change(const struct watch *watch, pid_t pid)
{
	FOR_EACH_SUBSCRIBER(s, watch)
	if (s->changed)
		s->changed(pid, s->arg);
}

static void report_exit(const struct watch *watch, pid_t pid)
{
	FOR_EACH_SUBSCRIBER(s, watch)
	if (s->exited)
		s->exited(pid, s->arg);
}

/* Returns true if a process is in the table and has not exited, as far as is known. */
static bool is_living(const struct watch *watch, pid_t pid)
{
	const struct process *p = processes_find(watch->processes, pid);

	return p && !p->exit_ns;
}

/* Takes the list first: a subscriber may read events and add to it, for the next call. */
static void report_missed_exits(struct watch *watch)
{
	uint64_t now_ns = clock_now_ns();
	pid_t *doubted = watch->doubted;
	size_t n = watch->n_doubted;

	watch->doubted = NULL;
	watch->n_doubted = watch->doubted_cap = 0;
	for (size_t i = 0; i < n; i++)
		if (is_living(watch, doubted[i]) &&
		    processes_check_end(watch->processes, doubted[i], now_ns))
			report_exit(watch, doubted[i]);
	free(doubted);
}

/* Reports all losses of a batch once: subscribers then rescan every process. */
static void report_loss(struct watch *watch)
{
	if (!watch->has_lost)
		return;
	watch->has_lost = false;
	report_missed_exits(watch);
	FOR_EACH_SUBSCRIBER(s, watch)
	if (s->lost)
		s->lost(s->arg);
}

/*
 * Returns true if a process outlives its main thread, which exited before the process was in the
 * table (it has been read from /proc since). If the table has dropped the process's exit meanwhile,
 * notes the exit again, by /proc, and returns false.
 */
static bool goes_on(struct watch *watch, const struct process_event *exit)
{
	struct processes *processes = watch->processes;

	if (!is_living(watch, exit->pid) || processes_find(processes, exit->pid)->knows_threads ||
	    processes_exit_thread(processes, exit->pid, exit->tid, clock_now_ns()))
		return false;
	if (processes_is_leaderless(processes, exit->pid))
		add_leaderless(watch, exit->pid);
	return true;
}

static void handle(struct watch *watch, const struct process_event *event)
{
	switch (event->kind) {
	case PROCESS_FORK:
		report_fork(watch, event->parent, event->pid);
		break;
	case PROCESS_EXEC:
		report_exec(watch, event->pid);
		report_change(watch, event->pid);
		break;
	case PROCESS_MAP:
		report_change(watch, event->pid);
		break;
	case PROCESS_EXIT:
		if (event->is_last && !goes_on(watch, event))
			report_exit(watch, event->pid);
		break;
	case PROCESS_LOST:
		watch->has_lost = true;
		break;
	default:
		break;
	}
}

/* Reports processes whose last thread has exited, after the main thread. */
static void check_leaderless(struct watch *watch)
{
	uint64_t now_ns = clock_now_ns();
	size_t n = 0;

	if (!watch->n_leaderless || now_ns - watch->checked_ns < CHECK_NS)
		return;
	watch->checked_ns = now_ns;
	for (size_t i = 0; i < watch->n_leaderless; i++) {
		pid_t pid = watch->leaderless[i];

		if (!processes_is_leaderless(watch->processes, pid))
			continue;
		if (processes_check_end(watch->processes, pid, now_ns))
			report_exit(watch, pid);
		else
			watch->leaderless[n++] = pid;
	}
	watch->n_leaderless = n;
}

/* Called after each batch of handled events. */
static void end_batch(struct watch *watch)
{
	check_leaderless(watch);
	report_loss(watch);
	FOR_EACH_SUBSCRIBER(s, watch)
	if (s->drained)
		s->drained(s->arg);
}

/* ---- parsing of records ---- */

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

/* ---- the rings ---- */

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
	struct watch *watch = arg;
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
	epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, ring.fd, &readable);
	*MEM_APPEND(watch->rings, watch->n_rings, watch->rings_cap) = ring;
	return 0;
}

static void close_ring(const struct ring *ring)
{
	munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
	close(ring->fd);
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
static void take_ring(struct watch *watch, struct ring *ring)
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
		copy_from_ring(ring, tail, event_queue_add(&watch->queue, time_ns, header.size),
			       header.size);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static struct process_event event_of(const struct watch *watch, const struct queued *item)
{
	struct process_event event = read_record(event_queue_record(&watch->queue, item));

	event.time_ns = item->time_ns;
	event.is_last = item->is_last;
	return event;
}

static void note_event(struct watch *watch, struct queued *item)
{
	struct process_event event = event_of(watch, item);

	if (event.kind == PROCESS_NOTHING)
		return;
	note(watch, &event);
	item->is_last = event.is_last;
}

/* Notes all events up to now. Later ones wake the loop again, since it polled the rings before. */
static void take_all(struct watch *watch)
{
	uint64_t now_ns = clock_now_ns();
	struct queued *item;

	for (size_t i = 0; i < watch->n_rings; i++)
		take_ring(watch, &watch->rings[i]);
	watch->taken_ns = now_ns;
	event_queue_sort(&watch->queue);
	while ((item = event_queue_note(&watch->queue, now_ns)))
		note_event(watch, item);
}

/* Handles all events in order, including events that a handler takes out of the rings. */
void watch_read(struct watch *watch)
{
	struct process_event event;

	take_all(watch);
	if (!watch->queue.n_noted)
		return;
	while (watch->queue.n_handled < watch->queue.n_noted) {
		event = event_of(watch, event_queue_handle(&watch->queue));
		if (event.kind != PROCESS_NOTHING)
			handle(watch, &event);
	}
	event_queue_drop(&watch->queue);
	end_batch(watch);
}

/*
 * The kernel reports each ring as readable only once, when it is polled, so the epoll set need not
 * be drained.
 */
static enum loop_verdict on_event(int fd, void *arg)
{
	(void)fd;
	watch_read(arg);
	return LOOP_GO;
}

/* Replaces the ring of a CPU that went offline; events before the new ring are lost. */
static void on_cpu_changed(uint32_t cpu, bool is_online, void *arg)
{
	struct process_event lost = { .kind = PROCESS_LOST, .time_ns = clock_now_ns() };
	struct watch *watch = arg;
	size_t i = 0;

	watch_read(watch);
	while (i < watch->n_rings && watch->rings[i].cpu != cpu)
		i++;
	if (i < watch->n_rings) {
		close_ring(&watch->rings[i]);
		watch->rings[i] = watch->rings[--watch->n_rings];
	}
	if (!is_online)
		return;
	if (open_ring(cpu, watch))
		msg_debug("process events of CPU %u: not available, new processes are seen late",
			  cpu);
	note(watch, &lost);
	handle(watch, &lost);
	end_batch(watch);
}

/* ---- the watch ---- */

/* Notes all events up to time_ns. */
static void take_out(uint64_t time_ns, void *arg)
{
	struct watch *watch = arg;

	if (time_ns > watch->taken_ns)
		take_all(watch);
}

struct watch *watch_new(const struct processes_options *options)
{
	struct watch *watch = mem_zalloc(1, sizeof(*watch));
	int err;

	watch->processes = processes_new(options);
	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = cpulist_visit_online(open_ring, watch);
	if (err) {
		msg_errno(err, "process events: open failed");
		msg_hint_of_perf(err);
		watch_free(watch);
		return NULL;
	}
	processes_on_ask(watch->processes, take_out, watch);
	return watch;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	hotplug_close(&watch->hotplug);
	for (size_t i = 0; i < watch->n_rings; i++)
		close_ring(&watch->rings[i]);
	close(watch->epoll_fd);
	free(watch->rings);
	event_queue_free(&watch->queue);
	processes_free(watch->processes);
	free(watch->leaderless);
	free(watch->doubted);
	free(watch);
}

struct processes *watch_processes(struct watch *watch)
{
	return watch->processes;
}

void watch_subscribe(struct watch *watch, const struct watch_handlers *handlers)
{
	assert(watch->n_subscribers < ARRAY_SIZE(watch->subscribers));
	watch->subscribers[watch->n_subscribers++] = *handlers;
}

int watch_start(struct watch *watch, struct loop *loop)
{
	watch->hotplug = (struct hotplug){ .changed = on_cpu_changed, .arg = watch };
	hotplug_watch(&watch->hotplug, loop);
	return loop_watch(loop, watch->epoll_fd, on_event, watch);
}
