// SPDX-License-Identifier: GPL-2.0-only
/* Events of threads as rows in time; see timeline.h. */
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/order.h"
#include "output/remarks.h"
#include "output/timeline.h"

#define GAP_NS (100 * NS_PER_US) /* shorter gaps come from inexact times */

/* ---- rows ---- */

uint64_t event_start(const struct event *event)
{
	return event->kind == EVENT_SAMPLE ? event->end_ns : event->end_ns - event->value;
}

/* A thread that runs on has a sample in each period; after a gap it is not on CPU. */
static void visit_samples(const struct track *t, row_fn *visit, void *arg)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct event *event = &t->events[i];
		uint64_t next_ns = i + 1 < t->n ? event[1].end_ns : UINT64_MAX;

		visit(arg, &(struct row){ event->end_ns, event->value, event->sample });
		if (t->period_ns && next_ns - event->end_ns > t->period_ns * 3 / 2)
			visit(arg, &(struct row){ .start_ns = event->end_ns + t->period_ns });
	}
}

/* Visits the row of a run or sample; a hidden one becomes a gap. */
static void visit_shown(const struct event *event, const struct row *row, row_fn *visit, void *arg)
{
	const struct row gap = { .start_ns = row->start_ns };

	visit(arg, event->is_hidden ? &gap : row);
}

/*
 * Divides a run, samples[n], among its n samples, each up to the middle between it and the next
 * one.
 */
static void visit_run(const struct event *samples, size_t n, row_fn *visit, void *arg)
{
	uint64_t end_ns = samples[n].end_ns;
	struct row row = { .start_ns = event_start(&samples[n]), .value = samples[n].value };

	if (!n) {
		row.state = REMARK_ON_CPU;
		row.kind = ROW_RUN;
		visit_shown(samples, &row, visit, arg);
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t until_ns =
			i + 1 < n ? (samples[i].end_ns + samples[i + 1].end_ns) / 2 : end_ns;

		until_ns = until_ns < end_ns ? until_ns : end_ns;
		until_ns = until_ns > row.start_ns ? until_ns : row.start_ns;
		row.value = until_ns - row.start_ns;
		row.sample = samples[i].sample;
		visit_shown(&samples[i], &row, visit, arg);
		row.start_ns = until_ns;
	}
}

static void visit_wait(const struct event *event, row_fn *visit, void *arg)
{
	const struct sample *s = event->sample;
	bool is_throttled = s->remark && !strcmp(s->remark, REMARK_THROTTLED);
	uint64_t part = event->part < event->value ? event->part : event->value;
	struct row row = { event_start(event),
			   event->value - part,
			   s,
			   s->remark ? s->remark : REMARK_BLOCKED,
			   ROW_BLOCKED,
			   true };

	if (writer_is_idle(s)) {
		row.value = event->value;
		row.state = NULL; /* [idle] is the leaf */
		row.kind = ROW_IDLE;
		part = 0;
	}
	if (row.value)
		visit(arg, &row);
	if (!part)
		return;
	row.start_ns += row.value;
	row.value = part;
	row.state = is_throttled ? REMARK_THROTTLED : REMARK_RUNNABLE;
	row.kind = is_throttled ? ROW_THROTTLED : ROW_RUNNABLE;
	visit(arg, &row);
}

/* Visits runs with the samples before their end, and waits. */
static void visit_time(const struct track *t, row_fn *visit, void *arg)
{
	size_t first = 0; /* sample of the current run */
	uint64_t until_ns = event_start(t->events);

	for (size_t i = 0; i < t->n; i++) {
		const struct event *event = &t->events[i];
		uint64_t start_ns = event_start(event);

		if (event->kind == EVENT_SAMPLE)
			continue;
		if (start_ns > until_ns + GAP_NS)
			visit(arg, &(struct row){ .start_ns = until_ns });
		if (event->kind == EVENT_WAIT)
			visit_wait(event, visit, arg);
		else
			visit_run(&t->events[first], i - first, visit, arg);
		first = i + 1;
		until_ns = event->end_ns;
	}
	visit(arg, &(struct row){ .start_ns = until_ns });
}

void track_visit(const struct track *t, row_fn *visit, void *arg)
{
	if (t->is_time)
		visit_time(t, visit, arg);
	else
		visit_samples(t, visit, arg);
}

/* Moves runs and waits before the next one's start: they are counted a little after their end. */
static void separate(const struct track *t)
{
	uint64_t limit_ns = UINT64_MAX;

	for (size_t i = t->n; i-- > 0;) {
		struct event *event = &t->events[i];

		if (event->kind == EVENT_SAMPLE)
			continue;
		if (event->end_ns > limit_ns)
			event->end_ns = limit_ns;
		if (event->value > event->end_ns)
			event->value = event->end_ns;
		limit_ns = event_start(event);
	}
}

/* ---- threads ---- */

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int order = order_u64(x->sample->pid, y->sample->pid);

	if (!order)
		order = order_u64(x->sample->tid, y->sample->tid);
	if (!order)
		order = order_u64(x->end_ns, y->end_ns);
	return order ? order : (x->part == x->value) - (y->part == y->value); /* throttled last */
}

/* Returns the latest name of the process's main thread; NULL: it has no event. */
static const char *find_process_name(const struct event *events, size_t n)
{
	uint32_t pid = events->sample->pid;
	const char *name = NULL;

	for (size_t i = 0; i < n && events[i].sample->pid == pid; i++)
		if (events[i].sample->tid == pid)
			name = escape_no_name(events[i].sample->comm);
	return name;
}

static size_t count_of_thread(const struct event *events, size_t n)
{
	size_t i = 1;

	while (i < n && events[i].sample->pid == events->sample->pid &&
	       events[i].sample->tid == events->sample->tid)
		i++;
	return i;
}

/* Separating runs and waits moves ends past samples: another sort would give other rows. */
void timeline_order(const struct profile *p)
{
	size_t n;
	struct event *events = profile_events(p, &n);

	SORT(events, n, compare_events);
	for (size_t i = 0; i < n;) {
		struct track t = { .events = events + i, .n = count_of_thread(events + i, n - i) };

		separate(&t);
		i += t.n;
	}
}

static bool shows_any(const struct track *t)
{
	size_t i = 0;

	while (i < t->n && t->events[i].is_hidden)
		i++;
	return i < t->n;
}

uint64_t timeline_period(const struct writer_facts *facts)
{
	const struct sample_period *period = facts ? facts->period : NULL;

	return period && !strcmp(period->unit, "nanoseconds") ? period->value : 0;
}

void timeline_visit(const struct profile *p, const struct writer_style *style,
		    void (*visit)(void *arg, const struct track *t), void *arg)
{
	const char *process = NULL;
	size_t n, n_threads = 0;
	struct event *events = profile_events(p, &n);

	for (size_t i = 0; i < n; n_threads++) {
		struct track t = {
			.events = events + i,
			.n = count_of_thread(events + i, n - i),
			.is_time = !strcmp(profile_unit(p), "nanoseconds"),
			.period_ns = timeline_period(style->facts),
		};

		writer_pause(style, n_threads);
		if (!i || t.events->sample->pid != t.events[-1].sample->pid)
			process = find_process_name(t.events, n - i);
		t.process = process;
		if (shows_any(&t))
			visit(arg, &t);
		i += t.n;
	}
}
