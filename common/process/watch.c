// SPDX-License-Identifier: GPL-2.0-only
/* Passes the kernel's process events to the table and to subscribers; see watch.h. */
#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "process/process_events.h"
#include "process/watch.h"

#define CHECK_NS (100 * NS_PER_MS)

struct watch {
	struct process_events *events;
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

static void note(struct process_event *event, void *arg)
{
	struct processes *processes = ((struct watch *)arg)->processes;

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
			add_leaderless(arg, event->pid);
		break;
	case PROCESS_LOST:
		note_loss(arg);
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

static void handle(const struct process_event *event, void *arg)
{
	struct watch *watch = arg;

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

static void drained(void *arg)
{
	struct watch *watch = arg;

	check_leaderless(watch);
	report_loss(watch);
	FOR_EACH_SUBSCRIBER(s, watch)
	if (s->drained)
		s->drained(s->arg);
}

/* ---- the watch ---- */

static void take_out(uint64_t time_ns, void *arg)
{
	process_events_take(((struct watch *)arg)->events, time_ns);
}

struct watch *watch_new(const struct processes_options *options)
{
	struct watch *watch = mem_zalloc(1, sizeof(*watch));
	struct process_event_user user = { note, handle, drained, watch };

	watch->processes = processes_new(options);
	watch->events = process_events_open(&user);
	if (!watch->events) {
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
	process_events_close(watch->events);
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
	return process_events_watch(watch->events, loop);
}

void watch_read(struct watch *watch)
{
	process_events_read(watch->events);
}
