// SPDX-License-Identifier: GPL-2.0-only
/* Threads that have locks; see held_locks.h. */
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/order.h"
#include "modules/lock_owners.h"
#include "process/procstate.h"
#include "process/thread_stalls.h"
#include "profile/held_locks.h"
#include "stacks/stacks.h"

#define PERIOD_NS	(100 * NS_PER_MS)
#define REST_PER_SAMPLE 32
#define OWNERS_MAX	64 /* further ones are not listed */
#define LINES_MAX	3
#define LINE_WIDTH	78

/* A lock and the thread that had it. */
struct owner {
	char *text;
	unsigned int n_samples;
};

struct held_locks {
	struct run *run;
	struct lock_names *names;
	struct lock_waiter *waiters; /* waiters of one sample */
	size_t n_waiters, waiters_cap;
	struct owner owners[OWNERS_MAX];
	size_t n_owners;
	unsigned int n_samples;
	uint64_t random;
	int timer_fd;
};

static void add_waiter(struct held_locks *held, pid_t pid, pid_t tid)
{
	struct lock_waiter waiter = { .pid = pid, .tid = tid, .kind = "mutex" };
	struct thread_call call;

	if (!thread_call_read(&call, pid, tid) || !(waiter.addr = thread_mutex(&call)))
		return;
	waiter.lock = lock_names_find(held->names, pid, 0, waiter.addr,
				      call.args[1] & FUTEX_PRIVATE_FLAG);
	*MEM_APPEND(held->waiters, held->n_waiters, held->waiters_cap) = waiter;
}

/* Counts an owner, whose text it frees. */
static void add_owner(struct held_locks *held, char *text)
{
	size_t i = 0;

	while (i < held->n_owners && strcmp(held->owners[i].text, text))
		i++;
	if (i == held->n_owners && i < OWNERS_MAX)
		held->owners[held->n_owners++] = (struct owner){ .text = mem_strdup(text) };
	if (i < held->n_owners)
		held->owners[i].n_samples++;
	free(text);
}

static void take_sample(struct held_locks *held)
{
	size_t n, n_threads;
	pid_t *pids = condition_target_list(&held->run->capture.target, &n), *tids;

	held->n_waiters = 0;
	held->n_samples++;
	for (size_t i = 0; i < n; i++) {
		tids = thread_list(pids[i], &n_threads);
		for (size_t k = 0; k < n_threads; k++)
			add_waiter(held, pids[i], tids[k]);
		free(tids);
	}
	free(pids);
	lock_owners_find(held->waiters, held->n_waiters);
	for (size_t i = 0; i < held->n_waiters; i++)
		if (held->waiters[i].is_news)
			add_owner(held, lock_owner_text(&held->waiters[i]));
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	struct held_locks *held = arg;
	uint64_t expirations, used_ns = clock_thread_ns(), rest_ns;

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	take_sample(held);
	rest_ns = (clock_thread_ns() - used_ns) * REST_PER_SAMPLE;
	loop_arm_at_random(fd, rest_ns > PERIOD_NS ? rest_ns : PERIOD_NS, &held->random);
	return LOOP_GO;
}

struct held_locks *held_locks_start(struct run *run)
{
	struct held_locks *held = mem_zalloc(1, sizeof(*held));

	held->run = run;
	held->names = lock_names_new(stacks_processes(run), false);
	held->timer_fd = loop_every(run->loop, PERIOD_NS, on_timer, held);
	if (held->timer_fd >= 0)
		return held;
	msg_errno(held->timer_fd, "event loop: watch failed");
	held_locks_free(held);
	return NULL;
}

static int compare_owners(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return order_u64(y->n_samples, x->n_samples) ?: strcmp(x->text, y->text);
}

static void clear_owners(struct held_locks *held)
{
	for (size_t i = 0; i < held->n_owners; i++)
		free(held->owners[i].text);
	held->n_owners = held->n_samples = 0;
}

char *held_locks_append(struct held_locks *held, char *text)
{
	char line[LINE_WIDTH + 1], *whole, *longer;

	SORT(held->owners, held->n_owners, compare_owners);
	for (size_t i = 0; i < held->n_owners && i < LINES_MAX; i++) {
		whole = mem_printf("held in %u of %u samples: %s", held->owners[i].n_samples,
				   held->n_samples, held->owners[i].text);
		longer =
			mem_printf("%s  \n%s", text, escape_string(line, sizeof(line), whole, "`"));
		free(whole);
		free(text);
		text = longer;
	}
	clear_owners(held);
	lock_names_begin_report(held->names);
	return text;
}

void held_locks_free(struct held_locks *held)
{
	if (!held)
		return;
	if (held->timer_fd >= 0)
		close(held->timer_fd);
	clear_owners(held);
	lock_names_free(held->names);
	free(held->waiters);
	free(held);
}
