// SPDX-License-Identifier: GPL-2.0-only
/*
 * Location of a thread's state; see place.h. Up to 3.14 the state is a thread-specific value
 * (pthread_getspecific(3)), which glibc stores in struct pthread. Since 3.15 it is a thread-local
 * variable, on the other side of the thread pointer; another variable has the same value as long as
 * the thread has the GIL.
 */
#include "base/peek.h"
#include "runtimes/python/place.h"

/* bytes of struct pthread that are searched; its actual size is not used */
#define VALUES_BYTES	 2304
#define VARIABLES_BYTES	 4096
#define SINCE_A_VARIABLE 0x030f0000
#define MAX_WORDS	 (RUNTIME_THREAD_BYTES / sizeof(uint64_t))
#define MAX_THREADS	 64 /* maximum threads per interpreter */
#define MAX_INTERPRETERS 16
#define MAX_PLACES	 16

struct search {
	const struct python_process *process;
	int32_t first; /* start of the searched memory, relative to the thread pointer */
	size_t n_bytes;
	struct {
		int32_t place;
		unsigned int n_threads;
	} found[MAX_PLACES];
	size_t n_found;
};

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

/*
 * Counts the words around one thread's pointer that point to its state. Reads up to the end of the
 * thread's mapped memory.
 */
static void search_thread(struct search *s, uint64_t state, uint64_t pointer)
{
	uint64_t words[MAX_WORDS];
	size_t n = peek(s->process->pid, pointer + (uint64_t)(int64_t)s->first, words, s->n_bytes);

	for (size_t i = 0; i < n / sizeof(*words); i++)
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
 * Returns the location found in most threads, preferably the known one: a thread that holds the GIL
 * at every search shows two locations. The wrong one yields no frames while the thread waits, and
 * then only the right one is found.
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

/* Begins a search. struct pthread is at the thread pointer, or ends there. */
static struct search begin(const struct python_process *process)
{
	bool is_below = process->self_offset < 0;
	struct search s = { .process = process };

	if (process->python->version >= SINCE_A_VARIABLE) {
		s.first = is_below ? 0 : -VARIABLES_BYTES;
		s.n_bytes = VARIABLES_BYTES;
	} else {
		s.first = process->self_offset;
		s.n_bytes = is_below ? (size_t)-process->self_offset : VALUES_BYTES;
	}
	return s;
}

/* Searches all threads of an interpreter. Returns the number of states, up to MAX_THREADS. */
static int search_interpreter(struct search *s, uint64_t interpreter)
{
	const struct python_layout *l = &s->process->python->layout;
	uint64_t state = peek_u64(s->process->pid, interpreter + l->lists.threads), self;
	int n = 0;

	for (; state && n < MAX_THREADS; n++) {
		self = peek_u64(s->process->pid, state + l->thread_id);
		search_thread(s, state, self - (uint64_t)(int64_t)s->process->self_offset);
		state = peek_u64(s->process->pid, state + l->lists.next);
	}
	return n;
}

/* Searches all interpreters: a thread may have states in several, one of them at the location. */
int32_t python_place_find(const struct python_process *process, int32_t known, bool *has_threads)
{
	const struct python_file *python = process->python;
	const struct python_lists *lists = &python->layout.lists;
	uint64_t interpreter =
		peek_u64(process->pid, python->runtime + process->bias + lists->interpreters);
	struct search s = begin(process);
	int n = 0;

	for (int i = 0; interpreter && i < MAX_INTERPRETERS; i++) {
		n += search_interpreter(&s, interpreter);
		interpreter = peek_u64(process->pid, interpreter + lists->older);
	}
	*has_threads = n;
	return choose_place(&s, known);
}
