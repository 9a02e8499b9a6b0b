// SPDX-License-Identifier: GPL-2.0-only
/* The order of records that come from several rings, and what the queue keeps. */
#include "process/watch.h"
#include "process/processes.h"
#include "unit.h"

enum { FORK, EXIT };

static void add(struct event_queue *queue, uint64_t time_ns, uint64_t kind)
{
	memcpy(event_queue_add(queue, time_ns, sizeof(kind)), &kind, sizeof(kind));
}

/* Notes what happened until then; returns how many there were. */
static int note_until(struct event_queue *queue, uint64_t until_ns, struct processes *table)
{
	const struct queued *item;
	uint64_t kind;
	int n = 0;

	event_queue_sort(queue);
	for (; (item = event_queue_note(queue, until_ns)); n++) {
		memcpy(&kind, event_queue_record(queue, item), sizeof(kind));
		if (kind == FORK)
			processes_fork(table, 1, 7, item->time_ns);
		else
			processes_exit_thread(table, 7, 7, item->time_ns);
	}
	return n;
}

static int handle_all(struct event_queue *queue)
{
	int n = 0;

	while (event_queue_handle(queue))
		n++;
	event_queue_drop(queue);
	return n;
}

/* The fork came after its ring had been read, the child's end before the ring of that was. */
TEST(an_exit_that_was_read_before_its_fork_waits_for_it)
{
	struct processes *table =
		processes_new(&(struct processes_options){ .max_mappings = 1024 });
	struct event_queue queue = {};

	processes_exec(table, 1, 5);
	add(&queue, 30, EXIT);
	CHECK_EQ(note_until(&queue, 20, table), 0);
	CHECK_EQ(handle_all(&queue), 0);
	add(&queue, 25, FORK);
	CHECK_EQ(note_until(&queue, 40, table), 2);
	CHECK_EQ(handle_all(&queue), 2);
	CHECK(processes_has_exited(table, 7));
	event_queue_free(&queue);
	processes_free(table);
}

TEST(records_are_noted_and_handled_once_each)
{
	struct event_queue queue = {};
	uint64_t order[3] = {};

	for (uint64_t i = 0; i < 3; i++)
		add(&queue, 30 - 10 * i, i);
	event_queue_sort(&queue);
	for (int i = 0; i < 2; i++)
		order[i] = event_queue_note(&queue, 20)->time_ns;
	CHECK(!event_queue_note(&queue, 20));
	CHECK_EQ(order[0], 10);
	CHECK_EQ(order[1], 20);
	CHECK_EQ(handle_all(&queue), 2);
	event_queue_sort(&queue);
	CHECK_EQ(event_queue_note(&queue, 30)->time_ns, 30);
	CHECK_EQ(handle_all(&queue), 1);
	CHECK_EQ(queue.n_items, 0);
	event_queue_free(&queue);
}

/* Something waits each time. */
TEST(a_queue_that_is_never_empty_does_not_grow)
{
	struct event_queue queue = {};

	for (uint64_t t = 1; t <= 100000; t++) {
		add(&queue, 2 * t, FORK);
		add(&queue, 2 * t + 1, FORK);
		event_queue_sort(&queue);
		while (event_queue_note(&queue, 2 * t))
			;
		CHECK_EQ(handle_all(&queue), t == 1 ? 1 : 2);
	}
	CHECK_EQ(queue.n_items, 1);
	CHECK(queue.bytes_cap <= 4096);
	event_queue_free(&queue);
}
