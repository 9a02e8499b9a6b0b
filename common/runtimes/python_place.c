// SPDX-License-Identifier: GPL-2.0-only
/* Where a thread's state is; see python_place.h. */
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#include "runtimes/python_place.h"

/*
 * Up to 3.14 it is a thread-specific value (pthread_getspecific(3)), which glibc keeps in its
 * struct pthread, above the thread pointer. Since 3.15 it is a thread-local variable, below it;
 * there is another one that is the same as long as the thread has the GIL.
 */
#define ABOVE_BYTES  2304
#define BELOW_BYTES  4096
#define SINCE_BELOW  0x030f0000
#define MAX_THREADS  64
#define MAX_PLACES   16
#define MAX_DISTANCE (1ULL << 47) /* addresses of user space are below */

struct search {
	pid_t pid;
	int32_t first; /* place that is looked at, in bytes from the thread pointer */
	size_t n_bytes;
	struct {
		int32_t place;
		unsigned int n_threads;
	} found[MAX_PLACES];
	size_t n_found;
};

static bool peek(pid_t pid, uint64_t addr, void *to, size_t n_bytes)
{
	struct iovec local = { to, n_bytes }, remote = { (void *)addr, n_bytes };

	return addr < MAX_DISTANCE &&
	       process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n_bytes;
}

static uint64_t peek_word(pid_t pid, uint64_t addr)
{
	uint64_t word = 0;

	return peek(pid, addr, &word, sizeof(word)) ? word : 0;
}

static void count_place(struct search *s, int32_t place)
{
	size_t i = 0;

	while (i < s->n_found && s->found[i].place != place)
		i++;
	if (i == MAX_PLACES)
		return;
	if (i == s->n_found)
		s->found[s->n_found++].place = place;
	s->found[i].n_threads++;
}

/* The words around one thread's pointer that point to its state. */
static void search_thread(struct search *s, uint64_t state, uint64_t pointer)
{
	uint64_t words[BELOW_BYTES / sizeof(uint64_t)];

	if (!peek(s->pid, pointer + (uint64_t)(int64_t)s->first, words, s->n_bytes))
		return;
	for (size_t i = 0; i < s->n_bytes / sizeof(*words); i++)
		if (words[i] == state)
			count_place(s, s->first + (int32_t)(i * sizeof(*words)));
}

static unsigned int most_threads(const struct search *s)
{
	unsigned int most = 0;

	for (size_t i = 0; i < s->n_found; i++)
		if (s->found[i].n_threads > most)
			most = s->found[i].n_threads;
	return most;
}

/*
 * The place of most threads. Among several, the one that is used already: a thread that has the GIL
 * whenever it is looked at has two, of which the wrong one leads to no frames while it waits; then
 * the other one alone is found.
 */
static int32_t choose_place(const struct search *s, int32_t known)
{
	unsigned int most = most_threads(s);
	int32_t place = 0;

	for (size_t i = 0; i < s->n_found; i++)
		if (s->found[i].n_threads == most && (!place || s->found[i].place == known))
			place = s->found[i].place;
	return place;
}

/* The main interpreter's threads: those of others have their states in the same place. */
int32_t python_place_find(pid_t pid, const struct python_file *python, uint64_t bias, int32_t known)
{
	bool is_below = python->version >= SINCE_BELOW;
	struct search s = { .pid = pid,
			    .first = is_below ? -BELOW_BYTES : 0,
			    .n_bytes = is_below ? BELOW_BYTES : ABOVE_BYTES };
	uint64_t interpreter = peek_word(pid, python->runtime + bias + python->lists.interpreters),
		 state = interpreter ? peek_word(pid, interpreter + python->lists.threads) : 0;

	for (int i = 0; state && i < MAX_THREADS; i++) {
		search_thread(&s, state, peek_word(pid, state + python->layout.thread_id));
		state = peek_word(pid, state + python->lists.next);
	}
	return choose_place(&s, known);
}
