// SPDX-License-Identifier: GPL-2.0-only
/* Owners of mutexes; see lock_owners.h. */
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/peek.h"
#include "base/readfile.h"
#include "locks/lock_owners.h"
#include "output/json.h"
#include "output/writer.h"

#define MAX_BYTES 16384 /* of a file of a thread in /proc */

static char *read_file(const struct lock_waiter *w, const char *name)
{
	char *path = mem_printf("/proc/%d/task/%d/%s", w->pid, w->tid, name);
	char *text = readfile(path, MAX_BYTES, NULL);

	free(path);
	return text;
}

/* Returns true if the thread sleeps in a system call whose first argument is the lock. */
static bool still_waits(const struct lock_waiter *w)
{
	char *text = read_file(w, "syscall");
	uint64_t addr;
	bool waits = text && sscanf(text, "%*d %" SCNx64, &addr) == 1 && addr == w->addr;

	free(text);
	return waits;
}

static uint64_t count_waits(const struct lock_waiter *w)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	char *text = read_file(w, "status"), *at = text ? strstr(text, key) : NULL;
	uint64_t n = at ? strtoull(at + strlen(key), NULL, 10) : 0;

	free(text);
	return n;
}

/* Returns true if the process is in our pid namespace, so that its thread ids are ours. */
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
	return exists && has_our_numbers(pid);
}

/*
 * Reads the owner from glibc's pthread_mutex_t: futex, count, owner. While threads wait, the futex
 * of a plain mutex is 2; a robust mutex, or one with priority inheritance, has the owner in the
 * futex.
 */
static pid_t read_owner(const struct lock_waiter *w)
{
	struct {
		uint32_t futex, count, owner;
	} mutex;

	if (!strstr(w->kind, "mutex") || !peek_all(w->pid, w->addr, &mutex, sizeof(mutex)))
		return 0;
	if (mutex.futex != 2 && (mutex.futex & FUTEX_TID_MASK) != mutex.owner)
		return 0;
	return is_thread_of(w->pid, (pid_t)mutex.owner) ? (pid_t)mutex.owner : 0;
}

static int compare_threads(const void *a, const void *b)
{
	const struct lock_waiter *x = a, *y = b;
	int order = order_u64((uint64_t)x->pid, (uint64_t)y->pid);

	return order ? order : order_u64((uint64_t)x->tid, (uint64_t)y->tid);
}

static bool leads_back(const struct lock_waiter *w, size_t n)
{
	const struct lock_waiter *at = w->next;

	for (size_t i = 0; at && at != w && i < n; i++)
		at = at->next;
	return at == w;
}

void lock_owners_find(struct lock_waiter *waiters, size_t n)
{
	if (n)
		qsort(waiters, n, sizeof(*waiters), compare_threads);
	for (size_t i = 0; i < n; i++)
		waiters[i].n_waits = still_waits(&waiters[i]) ? count_waits(&waiters[i]) : 0;
	for (size_t i = 0; i < n; i++)
		waiters[i].owner = waiters[i].n_waits ? read_owner(&waiters[i]) : 0;
	for (size_t i = 0; i < n; i++) {
		struct lock_waiter *w = &waiters[i], owner = { .pid = w->pid, .tid = w->owner };

		if (count_waits(w) != w->n_waits)
			w->owner = 0;
		w->next =
			w->owner ? bsearch(&owner, waiters, n, sizeof(*w), compare_threads) : NULL;
	}
	for (size_t i = 0; i < n; i++)
		waiters[i].is_in_cycle = leads_back(&waiters[i], n);
}

/* ---- the report ---- */

/* Returns true if the lock has an owner that was not printed for an earlier waiter. */
static bool is_news(const struct lock_waiter *waiters, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (waiters[k].lock == waiters[i].lock && waiters[k].owner == waiters[i].owner)
			return false;
	return waiters[i].owner;
}

static bool is_deadlock(const struct lock_waiter *w)
{
	return w->next && w->next->is_in_cycle;
}

static char *owner_comm(const struct lock_waiter *w)
{
	const struct lock_waiter owner = { .pid = w->pid, .tid = w->owner };
	char *text = w->next ? mem_strdup(w->next->comm) : read_file(&owner, "comm");

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text ? text : mem_strdup("?");
}

static void print_escaped(FILE *f, const char *before, char *text)
{
	fputs(before, f);
	escape_print(f, text, "");
	free(text);
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
	print_escaped(f, "held now: ", lock_name_text(w->lock, w->kind));
	print_escaped(f, " by ", owner_comm(w));
	fprintf(f, " (%d)", w->owner);
	if (w->next)
		print_escaped(f, ", which waits for ",
			      lock_name_text(w->next->lock, w->next->kind));
	fputs(is_deadlock(w) ? " [deadlock]\n" : "\n", f);
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
		if (is_news(waiters, i))
			(is_json ? print_json_owner : print_owner)(f, &waiters[i], stack, arg);
}
