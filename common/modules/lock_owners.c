// SPDX-License-Identifier: GPL-2.0-only
/* Owners of mutexes; see lock_owners.h. */
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/peek.h"
#include "modules/lock_owners.h"
#include "output/json.h"
#include "output/writer.h"
#include "process/procstate.h"

/* Threads of one process by their ids in its pid namespace, if that isn't ours. */
struct inner_ids {
	pid_t pid; /* 0: none yet */
	struct idmap tids;
};

/* Returns true if the thread sleeps in a system call whose first argument is the lock. */
static bool still_waits(const struct lock_waiter *w)
{
	struct thread_call call;

	return thread_call_read(&call, w->pid, w->tid) && call.is_off_cpu &&
	       call.args[0] == w->addr;
}

static uint64_t count_waits(const struct lock_waiter *w)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	char *text = thread_file(w->pid, w->tid, "status"), *at = text ? strstr(text, key) : NULL;
	uint64_t n = at ? strtoull(at + strlen(key), NULL, 10) : 0;

	free(text);
	return n;
}

/* Returns true if the process is in our pid namespace, so that thread ids match ours. */
static bool has_our_numbers(pid_t pid)
{
	char *path = mem_printf("/proc/%d/ns/pid", pid);
	struct stat theirs, ours;
	bool is_same = !stat(path, &theirs) && !stat("/proc/self/ns/pid", &ours) &&
		       theirs.st_ino == ours.st_ino;

	free(path);
	return is_same;
}

static bool is_thread_of(pid_t pid, pid_t tid)
{
	char *path = mem_printf("/proc/%d/task/%d", pid, tid);
	bool exists = tid > 0 && !access(path, F_OK);

	free(path);
	return exists;
}

static void learn_inner_ids(struct inner_ids *inner, pid_t pid)
{
	size_t n;
	pid_t *tids = thread_list(pid, &n);

	idmap_free(&inner->tids, NULL);
	*inner = (struct inner_ids){ .pid = pid };
	for (size_t i = 0; i < n; i++) {
		uint64_t id = (uint64_t)thread_inner_id(pid, tids[i]);

		if (id && !idmap_find(&inner->tids, id))
			idmap_add(&inner->tids, id, (void *)(intptr_t)tids[i]);
	}
	free(tids);
}

/* Returns our id of the thread with that id in its process's pid namespace; 0: none. */
static pid_t find_tid(struct inner_ids *inner, pid_t pid, pid_t id)
{
	if (has_our_numbers(pid))
		return is_thread_of(pid, id) ? id : 0;
	if (inner->pid != pid)
		learn_inner_ids(inner, pid);
	return id > 0 ? (pid_t)(intptr_t)idmap_find(&inner->tids, (uint64_t)id) : 0;
}

static bool is_mutex(const struct lock_waiter *w)
{
	return strstr(w->kind, "mutex");
}

/*
 * Returns the owner's thread id from glibc's pthread_mutex_t (futex, count, owner); 0: unknown.
 * While threads wait, the futex of a plain mutex is 2; that of a robust or priority-inheritance
 * mutex has the owner.
 */
static pid_t read_owner(const struct lock_waiter *w, struct inner_ids *inner)
{
	struct {
		uint32_t futex, count, owner;
	} mutex;

	if (!is_mutex(w) || !peek_all(w->pid, w->addr, &mutex, sizeof(mutex)))
		return 0;
	if (mutex.futex != 2 && (mutex.futex & FUTEX_TID_MASK) != mutex.owner)
		return 0;
	return find_tid(inner, w->pid, (pid_t)mutex.owner);
}

static int compare_threads(const void *a, const void *b)
{
	const struct lock_waiter *x = a, *y = b;

	return order_u64((uint64_t)x->pid, (uint64_t)y->pid)
		       ?: order_u64((uint64_t)x->tid, (uint64_t)y->tid);
}

static struct lock_waiter *find_thread(struct lock_waiter *waiters, size_t n, pid_t pid, pid_t tid)
{
	const struct lock_waiter key = { .pid = pid, .tid = tid };

	return tid ? bsearch(&key, waiters, n, sizeof(key), compare_threads) : NULL;
}

/* ---- choice of waiters ---- */

static int compare_futexes(const void *a, const void *b)
{
	const struct lock_waiter *x = *(struct lock_waiter *const *)a;
	const struct lock_waiter *y = *(struct lock_waiter *const *)b;
	int order = order_u64((uint64_t)x->pid, (uint64_t)y->pid) ?: order_u64(x->addr, y->addr);

	return order ?: order_u64((uint64_t)x->tid, (uint64_t)y->tid);
}

/* Returns the index of the first waiter from i on that still waits; end: none. */
static size_t find_waiting(struct lock_waiter *const *list, size_t i, size_t end)
{
	while (i < end && !still_waits(list[i]))
		i++;
	return i;
}

static size_t end_of_futex(struct lock_waiter *const *list, size_t i, size_t n)
{
	size_t end = i + 1;

	while (end < n && list[end]->pid == list[i]->pid && list[end]->addr == list[i]->addr)
		end++;
	return end;
}

/* Chooses one waiter per mutex, and waiters that own a mutex. */
static void choose(struct lock_waiter *waiters, struct lock_waiter **list, size_t n_mutex, size_t n,
		   struct inner_ids *inner)
{
	struct lock_waiter *owner;

	for (size_t i = 0, end; i < n_mutex; i = end) {
		end = end_of_futex(list, i, n_mutex);
		i = find_waiting(list, i, end);
		if (i == end)
			continue;
		list[i]->is_chosen = true;
		owner = find_thread(waiters, n, list[i]->pid, read_owner(list[i], inner));
		if (owner)
			owner->is_chosen = true;
	}
}

static void look(struct lock_waiter *waiters, size_t n, struct inner_ids *inner)
{
	struct lock_waiter *const end = waiters + n;

	for (struct lock_waiter *w = waiters; w < end; w++)
		w->n_waits = w->is_chosen && still_waits(w) ? count_waits(w) : 0;
	for (struct lock_waiter *w = waiters; w < end; w++)
		w->owner = w->n_waits ? read_owner(w, inner) : 0;
	for (struct lock_waiter *w = waiters; w < end; w++)
		if (w->n_waits && count_waits(w) != w->n_waits)
			w->n_waits = w->owner = 0;
	for (struct lock_waiter *w = waiters; w < end; w++) {
		w->next = find_thread(waiters, n, w->pid, w->owner);
		if (w->next && !w->next->n_waits)
			w->next = NULL;
	}
}

/* ---- deadlocks ---- */

/* Walks from owner to owner; marks the cycle if a waiter of this walk is reached again. */
static void mark_cycle(struct lock_waiter *w, size_t walk)
{
	for (; w && !w->walk; w = w->next)
		w->walk = walk;
	if (!w || w->walk != walk)
		return;
	for (; !w->is_in_cycle; w = w->next)
		w->is_in_cycle = true;
}

static int compare_news(const void *a, const void *b)
{
	const struct lock_waiter *x = *(struct lock_waiter *const *)a;
	const struct lock_waiter *y = *(struct lock_waiter *const *)b;
	int order = order_u64((uintptr_t)x->lock, (uintptr_t)y->lock)
			    ?: order_u64((uint64_t)x->owner, (uint64_t)y->owner);

	return order ?: order_u64((uintptr_t)x, (uintptr_t)y);
}

/* Marks the first waiter of each lock and owner. */
static void mark_news(struct lock_waiter **list, size_t n)
{
	SORT(list, n, compare_news);
	for (size_t i = 0; i < n; i++)
		list[i]->is_news = list[i]->owner && (!i || list[i - 1]->lock != list[i]->lock ||
						      list[i - 1]->owner != list[i]->owner);
}

void lock_owners_find(struct lock_waiter *waiters, size_t n)
{
	struct lock_waiter **list = mem_zalloc(n + 1, sizeof(struct lock_waiter *));
	struct inner_ids inner = {};
	size_t n_mutex = 0;

	SORT(waiters, n, compare_threads);
	for (size_t i = 0; i < n; i++)
		if (is_mutex(&waiters[i]))
			list[n_mutex++] = &waiters[i];
	SORT(list, n_mutex, compare_futexes);
	choose(waiters, list, n_mutex, n, &inner);
	look(waiters, n, &inner);
	for (size_t i = 0; i < n; i++)
		mark_cycle(&waiters[i], i + 1);
	mark_news(list, n_mutex);
	idmap_free(&inner.tids, NULL);
	free(list);
}

/* ---- the report ---- */

static bool is_deadlock(const struct lock_waiter *w)
{
	return w->next && w->next->is_in_cycle;
}

static char *owner_comm(const struct lock_waiter *w)
{
	char *text = w->next && w->next->comm[0] ? mem_strdup(w->next->comm)
						 : thread_file(w->pid, w->owner, "comm");

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text ? text : mem_strdup("?");
}

char *lock_owner_text(const struct lock_waiter *w)
{
	char *name = lock_name_text(w->lock, w->kind), *comm = owner_comm(w);
	char *next = w->next ? lock_name_text(w->next->lock, w->next->kind) : mem_strdup("");
	char *text = mem_printf("%s by %s (%d)%s%s%s", name, comm, w->owner,
				w->next ? ", which waits for " : "", next,
				is_deadlock(w) ? " [deadlock]" : "");

	free(name);
	free(comm);
	free(next);
	return text;
}

static void print_stack(FILE *f, const struct lock_waiter *w, lock_owner_stack_fn *stack, void *arg)
{
	static const struct writer_style plain;
	size_t n = 0;
	const struct frame *const *frames = stack(w->user_id, &n, arg);

	while (frames && n-- > 0) {
		fputs("            ", f);
		writer_print_frame(f, frames[n], &plain, NULL);
		fputc('\n', f);
	}
}

static void print_owner(FILE *f, const struct lock_waiter *w, lock_owner_stack_fn *stack, void *arg)
{
	char *text = lock_owner_text(w);

	fputs("held now: ", f);
	escape_print(f, text, "");
	fputc('\n', f);
	free(text);
	if (w->next)
		print_stack(f, w->next, stack, arg);
}

static void print_json_owner(FILE *f, const struct lock_waiter *w, lock_owner_stack_fn *stack,
			     void *arg)
{
	struct json json = json_begin_line(f, "lock_owner");
	char *name = lock_name_text(w->lock, w->kind), *comm = owner_comm(w);
	const struct frame *const *frames = NULL;
	size_t n = 0;

	if (w->next)
		frames = stack(w->next->user_id, &n, arg);
	json_text(&json, "name", name);
	json_uint(&json, "address", w->lock->addr);
	json_uint(&json, "pid", (uint64_t)w->pid);
	json_uint(&json, "tid", (uint64_t)w->owner);
	json_text(&json, "comm", comm);
	json_text(&json, "state",
		  is_deadlock(w) ? "deadlock"
		  : w->next	 ? "waiting for a lock"
				 : "other");
	json_open(&json, "frames", '[');
	for (size_t i = 0; frames && i < n; i++)
		json_text(&json, NULL, frames[i]->name ? frames[i]->name : "?");
	json_close(&json, ']');
	json_end_line(&json);
	free(name);
	free(comm);
}

void lock_owners_print(FILE *f, bool is_json, const struct lock_waiter *waiters, size_t n,
		       lock_owner_stack_fn *stack, void *arg)
{
	for (size_t i = 0; i < n; i++)
		if (waiters[i].is_news)
			(is_json ? print_json_owner : print_owner)(f, &waiters[i], stack, arg);
}
