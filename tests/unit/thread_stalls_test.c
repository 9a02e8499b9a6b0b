// SPDX-License-Identifier: GPL-2.0-only
/* Threads that stall, and threads that wait for work. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "process/thread_stalls.h"
#include "child.h"
#include "unit.h"

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static sem_t tickets;
static int empty_pipe[2], full_pipe[2], lock_fd, semaphores;

static void wait_for_mutex(void)
{
	pthread_mutex_lock(&held);
}

static void wait_for_file_lock(void)
{
	flock(open("/proc/self/exe", O_RDONLY), LOCK_EX);
}

static void wait_for_reader(void)
{
	char page[4096] = {};

	while (write(full_pipe[1], page, sizeof(page)) > 0)
		;
}

/* sendmmsg(), pwritev2() without an offset, and vmsplice() block if a pipe or socket is full. */
static void wait_for_space_of_messages(void)
{
	char page[4096] = {};
	struct iovec data = { page, sizeof(page) };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &data, .msg_iovlen = 1 } };
	int ends[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	while (sendmmsg(ends[1], &message, 1, 0) > 0)
		;
}

static void wait_for_space_of_vectors(void)
{
	char page[4096] = {};
	struct iovec data = { page, sizeof(page) };

	while (pwritev2(full_pipe[1], &data, 1, -1, 0) > 0)
		;
}

static void wait_for_space_of_pages(void)
{
	char page[4096] = {};
	struct iovec data = { page, sizeof(page) };

	while (vmsplice(full_pipe[1], &data, 1, 0) > 0)
		;
}

static void wait_for_semaphore(void)
{
	struct sembuf down = { .sem_op = -1 };

	syscall(SYS_semop, semaphores, &down, 1);
}

static void compute(void)
{
	for (;;)
		__asm__ volatile("");
}

static void wait_for_condition(void)
{
	pthread_mutex_lock(&pool);
	pthread_cond_wait(&work, &pool);
}

static void wait_for_ticket(void)
{
	sem_wait(&tickets);
}

static void wait_for_event(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, -1);
}

static void wait_for_input(void)
{
	char byte;

	read(empty_pipe[0], &byte, 1);
}

static const struct deed {
	void (*body)(void);
	const char *found, *found_on_cpu; /* beginnings of the descriptions; NULL: no stall */
} deeds[] = {
	{ wait_for_mutex, "blocked in futex", "blocked in futex" },
	{ wait_for_file_lock, "blocked in flock", "blocked in flock" },
	{ wait_for_reader, "blocked in write", "blocked in write" },
	{ wait_for_space_of_messages, "blocked in sendmmsg", "blocked in sendmmsg" },
	{ wait_for_space_of_vectors, "blocked in pwritev2", "blocked in pwritev2" },
	{ wait_for_space_of_pages, "blocked in vmsplice", "blocked in vmsplice" },
	{ wait_for_semaphore, "blocked in semop", "blocked in semop" },
	{ compute, NULL, "on CPU " },
	{ wait_for_condition, NULL, NULL },
	{ wait_for_ticket, NULL, NULL },
	{ wait_for_event, NULL, NULL },
	{ wait_for_input, NULL, NULL },
	{ sleep_for_ever, NULL, NULL },
};

static char *found_text;
static int n_found;

static void note(const char *text, void *arg)
{
	(void)arg;
	free(found_text);
	found_text = mem_strdup(text);
	n_found++;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Reads a child until it stalls, or for a while. What a busy machine does to it is ignored. */
static void check_deed(const struct deed *deed, bool counts_cpu)
{
	struct thread_stalls stalls = { .limit_ns = 50 * NS_PER_MS, .counts_cpu = counts_cpu };
	const char *wanted = counts_cpu ? deed->found_on_cpu : deed->found, *what = "";
	pid_t pid = start_child_with(deed->body);
	uint64_t end_ns = clock_now_ns() + (wanted ? 60 * NS_PER_S : 150 * NS_PER_MS);

	n_found = 0;
	do {
		usleep(5000);
		thread_stalls_read(&stalls, &pid, 1, note, NULL);
		what = n_found ? strstr(found_text, "ms: ") + strlen("ms: ") : "";
		if (begins(what, "uninterruptible") || begins(what, "on CPU 0 ms") ||
		    (begins(what, "on CPU ") && deed->body != compute)) {
			n_found = 0;
			thread_stalls_free(&stalls); /* is found again */
		}
	} while (!n_found && clock_now_ns() < end_ns);
	CHECK_EQ(n_found > 0, wanted != NULL);
	if (wanted && n_found)
		CHECK_HAS(found_text, wanted);
	thread_stalls_free(&stalls);
	end_child(pid);
}

TEST(waits_for_work_are_no_stalls)
{
	lock_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	pthread_mutex_lock(&held);
	CHECK(!flock(lock_fd, LOCK_EX) && !pipe(empty_pipe) && !pipe(full_pipe));
	sem_init(&tickets, 0, 0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	for (size_t i = 0; i < sizeof(deeds) / sizeof(*deeds); i++) {
		check_deed(&deeds[i], false);
		check_deed(&deeds[i], true);
	}
	free(found_text);
	found_text = NULL;
	close(lock_fd);
	semctl(semaphores, 0, IPC_RMID);
	for (int i = 0; i < 2; i++) {
		close(empty_pipe[i]);
		close(full_pipe[i]);
	}
}

/* A stall is found once, and another one afterwards again. */
TEST(a_stall_is_found_once)
{
	struct thread_stalls stalls = { .limit_ns = NS_PER_MS };
	pid_t pid = start_child_with(wait_for_mutex);

	n_found = 0;
	for (int i = 0; i < 60000 && (i < 100 || !n_found || !strstr(found_text, "futex")); i++) {
		usleep(1000);
		thread_stalls_read(&stalls, &pid, 1, note, NULL);
	}
	CHECK_HAS(found_text, "blocked in futex");
	thread_stalls_read(&stalls, NULL, 0, note, NULL);
	CHECK_EQ(stalls.threads.count, 0);
	thread_stalls_free(&stalls);
	free(found_text);
	found_text = NULL;
	end_child(pid);
}
