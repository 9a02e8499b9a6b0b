// SPDX-License-Identifier: GPL-2.0-only
/* Tables of counts by stack; see stack_counts.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "abi/waits.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/msg.h"
#include "stacks/stack_counts.h"
#include "stacks/stack_memory.h"

/* ---- stack sums: a hash table, filled at most by half ---- */

#define FIRST_SLOTS 4096

struct stack_sums_item {
	struct stack_key key;
	struct stack_sum sum;
};

static uint64_t hash_key(const struct stack_key *key)
{
	uint64_t words[sizeof(*key) / sizeof(uint64_t)];

	_Static_assert(sizeof(words) == sizeof(*key), "a key is whole words");
	memcpy(words, key, sizeof(words));
	return hash_words(words, ARRAY_SIZE(words));
}

/* Returns the slot that has the key, or the free one where it belongs. */
static uint32_t *find_slot(const struct stack_sums *sums, const struct stack_key *key)
{
	size_t i = hash_key(key) & (sums->n_slots - 1);

	while (sums->slots[i] && memcmp(&sums->items[sums->slots[i] - 1].key, key, sizeof(*key)))
		i = (i + 1) & (sums->n_slots - 1);
	return &sums->slots[i];
}

static void double_slots(struct stack_sums *sums)
{
	free(sums->slots);
	sums->n_slots = sums->n_slots ? sums->n_slots * 2 : FIRST_SLOTS;
	sums->slots = mem_zalloc(sums->n_slots, sizeof(*sums->slots));
	sums->items = mem_realloc(sums->items, sums->n_slots / 2, sizeof(*sums->items));
	for (size_t i = 0; i < sums->n; i++)
		*find_slot(sums, &sums->items[i].key) = (uint32_t)i + 1;
}

size_t stack_sums_add(struct stack_sums *sums, const struct stack_key *key,
		      const struct stack_sum *sum)
{
	struct stack_sum *known;
	uint32_t *slot;

	if (sums->n == sums->n_slots / 2)
		double_slots(sums);
	slot = find_slot(sums, key);
	if (!*slot) {
		sums->items[sums->n++] = (struct stack_sums_item){ .key = *key };
		*slot = (uint32_t)sums->n;
	}
	known = &sums->items[*slot - 1].sum;
	known->value += sum->value;
	known->part += sum->part;
	return *slot - 1;
}

const struct stack_sum *stack_sums_find(const struct stack_sums *sums, const struct stack_key *key)
{
	uint32_t slot = sums->n ? *find_slot(sums, key) : 0;

	return slot ? &sums->items[slot - 1].sum : NULL;
}

void stack_sums_fold(struct stack_sums *sums, bool (*is_gone)(uint32_t id))
{
	struct stack_sums folded = {};

	for (size_t i = 0; i < sums->n; i++) {
		struct stack_key key = sums->items[i].key;

		if (is_gone(key.tgid))
			key.tgid = 0;
		if (is_gone(key.tid))
			key.tid = 0;
		stack_sums_add(&folded, &key, &sums->items[i].sum);
	}
	stack_sums_clear(sums);
	*sums = folded;
}

void stack_sums_visit(const struct stack_sums *sums,
		      void (*visit)(const void *key, const void *sum, void *arg), void *arg)
{
	for (size_t i = 0; i < sums->n; i++)
		visit(&sums->items[i].key, &sums->items[i].sum, arg);
}

void stack_sums_clear(struct stack_sums *sums)
{
	free(sums->items);
	free(sums->slots);
	*sums = (struct stack_sums){};
}

/* ---- stack counts ---- */

#define MANY_SUMS  32768     /* some 500 bytes each in a report */
#define EVENTS_MAX (1 << 19) /* 32 bytes each, and as much again to sort them */

void stack_counts_configure(struct run *run, const struct stack_counts *counts)
{
	if (counts->in_time)
		map_pair_leave_out(run, &counts->tables);
	else
		map_pair_configure(run, &counts->tables, counts->size, true);
}

void stack_counts_leave_out(const struct run *run, const struct stack_counts *counts)
{
	map_pair_leave_out(run, &counts->tables);
}

static uint64_t count_added(const struct stack_counts *counts)
{
	return counts->in_time ? counts->events.n_keys
			       : __atomic_load_n(counts->added, __ATOMIC_RELAXED);
}

int stack_counts_start(const struct run *run, struct stack_counts *counts,
		       struct resolver *resolver)
{
	counts->resolver = resolver;
	counts->sent = map_memory(run, "stacks_sent");
	counts->added = map_memory(run, ".data.stacks");
	return counts->sent && counts->added ? 0 : -ENOMEM;
}

/* Removes an id from those that BPF has sent: BPF sends the stack again if it recurs. */
static void forget_sent(uint64_t id, void *arg)
{
	struct stack_counts *counts = arg;
	__u64 *ids = counts->sent[stack_sent_set_of(id)].ids;

	for (size_t i = 0; i < STACK_SENT_WAYS; i++)
		if (__atomic_load_n(&ids[i], __ATOMIC_RELAXED) == id)
			__atomic_store_n(&ids[i], 0, __ATOMIC_RELAXED);
	counts->has_forgotten = true;
}

static void end_turn(const struct run *run, struct stack_counts *counts, bool is_report)
{
	counts->has_forgotten = false;
	resolver_drained(counts->resolver, is_report, forget_sent, counts);
	if (counts->has_forgotten)
		stack_memory_forget(run);
}

void stack_counts_use(const struct stack_counts *counts, const struct stack_key *key)
{
	resolver_use(counts->resolver, key->user_id);
	resolver_use(counts->resolver, key->kernel_id);
	resolver_use(counts->resolver, key->waker_id);
}

struct gathering {
	struct stack_counts *counts;
	struct stack_sums *sums;
	bool is_peek;
};

/*
 * Adds a count under the ids of interned stacks, which processes share and which outlive them.
 * Returns the key's number.
 */
static size_t add_sum(const struct gathering *gathering, struct stack_key key,
		      const struct stack_sum *sum)
{
	struct stack_counts *counts = gathering->counts;

	if (!counts->by_process && !gathering->is_peek)
		stack_flaws_count(counts->flaws, counts->resolver, &key, sum->value);
	key.user_id = resolver_fold(counts->resolver, key.user_id);
	key.kernel_id = resolver_fold(counts->resolver, key.kernel_id);
	key.waker_id = resolver_fold(counts->resolver, key.waker_id);
	if (!counts->by_process)
		key.tgid = 0;
	return stack_sums_add(gathering->sums, &key, sum);
}

static void gather_sum(const void *key_data, const void *sum_data, void *arg)
{
	const struct gathering *gathering = arg;
	const struct stack_key *key = key_data;
	const struct stack_sum *sum = sum_data;

	if (sum->value)
		add_sum(gathering, *key, sum);
	else /* also retain the stacks of keys without a count */
		stack_counts_use(gathering->counts, key);
}

void stack_counts_add(struct stack_counts *counts, const struct stack_key *key,
		      const struct stack_sum *sum)
{
	gather_sum(key, sum, &(struct gathering){ counts, &counts->gathered, false });
}

/* Totals the remaining events anew, which drops keys without events. */
static void total_events(struct stack_counts *counts)
{
	struct stack_events *events = &counts->events;
	struct stack_sums sums = {};

	for (size_t i = 0; i < events->n; i++) {
		struct event *event = &events->list[i];
		struct stack_sum sum = { event->value, event->part };

		event->key = stack_sums_add(&sums, &counts->gathered.items[event->key].key, &sum);
	}
	stack_sums_clear(&counts->gathered);
	counts->gathered = sums;
}

/* The time of runs is counted with their samples, too. */
static void drop_oldest(struct stack_counts *counts)
{
	struct stack_events *events = &counts->events;
	size_t n = (events->n + 1) / 2;

	for (size_t i = 0; i < n; i++) {
		const struct event *event = &events->list[i];

		if (counts->gathered.items[event->key].key.remark != RUN_TIME)
			events->cut_value += event->value;
		if (event->end_ns > events->cut_ns)
			events->cut_ns = event->end_ns;
	}
	events->n -= n;
	memmove(events->list, events->list + n, events->n * sizeof(*events->list));
	total_events(counts);
}

void stack_counts_add_event(struct stack_counts *counts, const struct stack_event *event)
{
	struct gathering gathering = { counts, &counts->gathered, false };
	struct stack_events *events = &counts->events;
	size_t n_keys;

	if (!event->sum.value) {
		stack_counts_use(counts, &event->key);
		return;
	}
	if (!events->list)
		events->list = mem_zalloc(EVENTS_MAX, sizeof(*events->list));
	while (events->n && (events->n == EVENTS_MAX || counts->gathered.n >= MANY_SUMS))
		drop_oldest(counts);
	n_keys = counts->gathered.n;
	events->list[events->n++] = (struct event){
		.end_ns = event->time_ns,
		.value = event->sum.value,
		.part = event->sum.part,
		.key = add_sum(&gathering, event->key, &event->sum),
	};
	events->n_keys += counts->gathered.n - n_keys;
}

/* Returns true if no task has this id, a pid or a tid: kill(2) accepts both. */
static bool is_gone(uint32_t id)
{
	return id && kill((pid_t)id, 0) && errno == ESRCH;
}

/* Merges the totals of exited processes or threads if there are too many. */
static void bound_sums(struct stack_counts *counts)
{
	if (counts->in_time || (!counts->by_process && !counts->by_thread) ||
	    counts->gathered.n < MANY_SUMS + 2 * counts->n_folded)
		return;
	stack_sums_fold(&counts->gathered, is_gone);
	counts->n_folded = counts->gathered.n;
	if (!counts->has_folded)
		msg_warn("stacks: more than %d per-%s totals, those of exited %s are merged "
			 "under %s 0 (use a shorter --interval to separate them)",
			 MANY_SUMS, counts->by_thread ? "thread" : "process",
			 counts->by_thread ? "threads" : "processes",
			 counts->by_thread ? "tid" : "pid");
	counts->has_folded = true;
}

void stack_counts_retain(const struct stack_counts *counts)
{
	for (size_t i = 0; i < counts->gathered.n; i++) {
		const struct stack_key *key = &counts->gathered.items[i].key;

		resolver_retain(counts->resolver, key->user_id);
		resolver_retain(counts->resolver, key->kernel_id);
		resolver_retain(counts->resolver, key->waker_id);
	}
}

/* Releases the stacks of dropped events. */
static void release_dropped(const struct stack_counts *counts)
{
	if (!counts->in_time)
		return;
	stack_counts_retain(counts);
	resolver_release_stacks(counts->resolver);
}

void stack_counts_gather(const struct run *run, struct stack_counts *counts)
{
	struct gathering gathering = { counts, &counts->gathered, false };
	uint64_t n = counts->has_failed ? 0 : count_added(counts);

	if (counts->has_failed || n - counts->n_gathered < (counts->size + 1) / 2)
		return;
	counts->n_gathered = n;
	if (!counts->in_time && map_pair_read(run, &counts->tables, gather_sum, &gathering))
		counts->has_failed = true;
	else
		end_turn(run, counts, false);
	release_dropped(counts);
	bound_sums(counts);
}

static void copy_sum(const void *key, const void *sum, void *arg)
{
	stack_sums_add(arg, key, sum);
}

int stack_counts_read(const struct run *run, struct stack_counts *counts, struct stack_sums *sums,
		      struct stack_events *events)
{
	struct gathering gathering = { counts, sums, run->is_peek };

	counts->n_reported = count_added(counts);
	if (run->is_peek) {
		stack_sums_visit(&counts->gathered, copy_sum, sums);
	} else {
		*sums = counts->gathered;
		*events = counts->events;
		counts->gathered = (struct stack_sums){};
		counts->events = (struct stack_events){ .n_keys = events->n_keys };
	}
	return counts->in_time ? 0 : map_pair_read(run, &counts->tables, gather_sum, &gathering);
}

void stack_counts_end(const struct run *run, struct stack_counts *counts)
{
	if (run->is_peek)
		return;
	if (!counts->in_time) /* else they are those of later events */
		stack_sums_clear(&counts->gathered);
	counts->n_folded = 0;
	counts->n_gathered = counts->n_reported;
	end_turn(run, counts, true);
}

void stack_counts_free(struct stack_counts *counts)
{
	free(counts->events.list);
	stack_sums_clear(&counts->gathered);
}
