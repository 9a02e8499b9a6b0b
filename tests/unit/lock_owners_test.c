// SPDX-License-Identifier: GPL-2.0-only
/* Owners of mutexes, of this process's own threads. */
#include <pthread.h>
#include <sys/syscall.h>

#include "base/readfile.h"
#include "modules/lock_owners.h"
#include "unit.h"

#define WAITERS 4

static char program[] = "test", symbols[3][8] = { "first", "second", "third" };
static pthread_mutex_t mutexes[3] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				      PTHREAD_MUTEX_INITIALIZER };
static struct lock_name names[3];

/* A thread that takes one mutex, if any, and waits for another. */
struct thread {
	int has, wants;
	pid_t tid;
	pthread_barrier_t *meet; /* all have what they take */
};

static void *wait_for_mutex(void *arg)
{
	struct thread *t = arg;
	int wants = t->wants;

	if (t->has >= 0)
		pthread_mutex_lock(&mutexes[t->has]);
	__atomic_store_n(&t->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	pthread_barrier_wait(t->meet);
	pthread_mutex_lock(&mutexes[wants]);
	pthread_mutex_unlock(&mutexes[wants]);
	return NULL;
}

static bool sleeps(pid_t tid, const void *futex)
{
	char *path = mem_printf("/proc/self/task/%d/syscall", tid), *text;
	char *addr = mem_printf(" %p ", futex);
	bool is_there;

	text = readfile(path, 256, NULL);
	is_there = text && strstr(text, addr);
	free(text);
	free(addr);
	free(path);
	return is_there;
}

/* Starts the threads, and describes them once they wait. */
static void start(struct thread *threads, pthread_t *ids, struct lock_waiter *waiters,
		  unsigned int n)
{
	pthread_barrier_t meet;

	pthread_barrier_init(&meet, NULL, n);
	for (unsigned int i = 0; i < n; i++) {
		threads[i].meet = &meet;
		pthread_create(&ids[i], NULL, wait_for_mutex, &threads[i]);
	}
	for (unsigned int i = 0; i < n; i++) {
		pthread_mutex_t *mutex = &mutexes[threads[i].wants];
		pid_t tid;

		while (!(tid = __atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE)) ||
		       !sleeps(tid, mutex))
			usleep(1000);
		names[threads[i].wants] = (struct lock_name){ .addr = (uintptr_t)mutex,
							      .module = program,
							      .symbol = symbols[threads[i].wants] };
		waiters[i] = (struct lock_waiter){ .pid = getpid(),
						   .tid = tid,
						   .comm = "waiter",
						   .addr = (uintptr_t)mutex,
						   .lock = &names[threads[i].wants],
						   .kind = "mutex" };
	}
}

static const struct frame *const *no_stack(uint64_t user_id, size_t *n, void *arg)
{
	(void)user_id;
	(void)arg;
	*n = 0;
	return NULL;
}

static char *printed(const struct lock_waiter *waiters, size_t n)
{
	return PRINTED(f, lock_owners_print(f, false, waiters, n, no_stack, NULL));
}

TEST(nobody_waits)
{
	lock_owners_find(NULL, 0);
	CHECK_STR(printed(NULL, 0), "");
}

TEST(one_of_many_waiters_for_a_mutex_is_looked_at)
{
	struct thread threads[WAITERS];
	struct lock_waiter waiters[WAITERS];
	pthread_t ids[WAITERS];
	size_t n_chosen = 0;
	char *text;

	for (int i = 0; i < WAITERS; i++)
		threads[i] = (struct thread){ .has = -1, .wants = 0 };
	pthread_mutex_lock(&mutexes[0]);
	start(threads, ids, waiters, WAITERS);
	lock_owners_find(waiters, WAITERS);
	text = printed(waiters, WAITERS);
	pthread_mutex_unlock(&mutexes[0]);
	for (int i = 0; i < WAITERS; i++) {
		n_chosen += waiters[i].is_chosen;
		pthread_join(ids[i], NULL);
	}
	CHECK_EQ(n_chosen, 1);
	CHECK_HAS(text, "held now: test:first by ");
	CHECK(!strstr(strchr(text, '\n') + 1, "held now"));
	CHECK(!strstr(text, "deadlock"));
}

/* The threads of the deadlock stay until the end of the process. */
TEST(a_deadlock_is_found_among_other_waiters)
{
	static struct thread threads[4] = { { 1, 2 }, { 2, 1 }, { -1, 1 }, { -1, 2 } };
	struct lock_waiter waiters[4];
	pthread_t ids[4];
	char *text;

	start(threads, ids, waiters, 4);
	lock_owners_find(waiters, 4);
	text = printed(waiters, 4);
	CHECK_HAS(text, "held now: test:second by waiter ");
	CHECK_HAS(text, "which waits for test:third [deadlock]\n");
	CHECK_HAS(text, "held now: test:third by waiter ");
	CHECK_HAS(text, "which waits for test:second [deadlock]\n");
	for (size_t i = 0; i < 4; i++) /* of a waiter that was added without a name */
		waiters[i].comm[0] = '\0';
	CHECK_HAS(printed(waiters, 4), "held now: test:second by lock_owners_tes (");
}
