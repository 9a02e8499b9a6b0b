// SPDX-License-Identifier: GPL-2.0-only
/*
 * contend ROUNDS FILE: a thread or process, "waiter", waits exactly ROUNDS times for each of these,
 * and "holder" releases it when the waiter sleeps:
 *	static_lock, a static mutex; pi_lock, a mutex with priority inheritance
 *	a mutex on the heap, whose address is printed
 *	a mutex in FILE, mapped by two processes: each waits for it
 *	static_condition; timed_lock, until a timeout; prints how often as "timed_waits"
 *	requeued_word, a futex from which the holder moves the waiter to another before it wakes it;
 *		every other wait has a timeout, which isn't reached
 *	signalled_word, a futex, until a timer's signal; prints how often as "signalled_waits"
 *	the kernel's lock of FILE's inode, and a pipe's
 * Kernel locks are held by a write(2) that faults on missing memory, handled by userfaultfd. Prints
 * "kernel 0" without userfaultfd. FILE "leave": exits while a thread waits for static_lock.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "work.h"

#define PAGE 4096

static pthread_mutex_t static_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t condition_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t static_condition = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t pi_lock, *heap_lock;

/* Mangled by C++: app::timed_lock. */
static pthread_mutex_t timed_lock __asm__("_ZN3appL10timed_lockE") = PTHREAD_MUTEX_INITIALIZER;

static int requeued_word, other_word, signalled_word;
static int rounds;

/* State shared by waiter and holder, in memory shared between processes. */
struct meeting {
	atomic_int begun;    /* rounds in which the waiter was about to wait */
	atomic_long slept;   /* waiter's voluntary switches before the current wait */
	atomic_int done;     /* rounds in which the waiter has waited */
	atomic_int released; /* rounds that the waiter may begin */
	atomic_int tid;
	atomic_int signals; /* rounds in which the condition was signalled */
};

static struct meeting *meeting;

static void pause_a_bit(void)
{
	work_sleep(50000);
}

static void wait_for(atomic_int *number, int wanted)
{
	while (atomic_load(number) < wanted)
		pause_a_bit();
}

/* Returns the number after key in /proc/TID/status. */
static long status_number(int tid, const char *key)
{
	char path[64], text[8192] = "", *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		exit(1);
	close(fd);
	at = strstr(text, key);
	return at ? atol(at + strlen(key)) : 0;
}

static long count_sleeps(int tid)
{
	return status_number(tid, "\nvoluntary_ctxt_switches:");
}

static void begin_round(int i)
{
	atomic_store(&meeting->slept, count_sleeps((int)work_tid()));
	atomic_store(&meeting->begun, i + 1);
}

/*
 * Waits until the waiter sleeps, by its switches since begin_round(); it sleeps nowhere else. The
 * state in /proc isn't sufficient: a thread sets it before it sleeps, and a wakeup in between
 * cancels the sleep.
 */
static void wait_until_asleep(void)
{
	int tid = atomic_load(&meeting->tid);

	while (count_sleeps(tid) <= atomic_load(&meeting->slept))
		pause_a_bit();
	pause_a_bit();
}

/* ---- the waiter ---- */

static void take_turn(int i)
{
	wait_for(&meeting->released, i + 1);
	begin_round(i);
}

WORK_FUNCTION void waiter_lock(pthread_mutex_t *lock)
{
	for (int i = 0; i < rounds; i++) {
		take_turn(i);
		pthread_mutex_lock(lock);
		pthread_mutex_unlock(lock);
		atomic_store(&meeting->done, i + 1);
	}
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void waiter_wait(void)
{
	pthread_mutex_lock(&condition_lock);
	for (int i = 0; i < rounds; i++) {
		take_turn(i);
		while (atomic_load(&meeting->signals) <= i)
			pthread_cond_wait(&static_condition, &condition_lock);
		atomic_store(&meeting->done, i + 1);
	}
	pthread_mutex_unlock(&condition_lock);
	WORK_KEEP_FRAME();
}

/*
 * Goes first: a time that is over before the thread sleeps is no wait. Where the host takes the
 * CPU away, that happens; the waits are counted.
 */
WORK_FUNCTION void waiter_try(void)
{
	struct timespec until;
	uint64_t n_waits = 0;
	long before;

	work_go_first();
	for (int i = 0; i < rounds; i++) {
		take_turn(i);
		before = count_sleeps((int)work_tid());
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 20 * NS_PER_MS;
		until.tv_sec += until.tv_nsec / (long)NS_PER_S;
		until.tv_nsec %= (long)NS_PER_S;
		if (pthread_mutex_timedlock(&timed_lock, &until) != ETIMEDOUT)
			exit(1);
		n_waits += count_sleeps((int)work_tid()) > before;
		atomic_store(&meeting->done, i + 1);
	}
	work_say("timed_waits", n_waits);
	WORK_KEEP_FRAME();
}

static long futex(int *word, int command, long n, int *other)
{
	return syscall(SYS_futex, word, command | FUTEX_PRIVATE_FLAG, 0, n, other, 0);
}

WORK_FUNCTION void waiter_be_requeued(void)
{
	struct timespec hour = { .tv_sec = 3600 };

	for (int i = 0; i < rounds; i++) {
		take_turn(i);
		if (futex(&requeued_word, FUTEX_WAIT, i % 2 ? (long)&hour : 0, NULL))
			exit(1);
		atomic_store(&meeting->done, i + 1);
	}
	WORK_KEEP_FRAME();
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* The signal repeats: one that comes before the thread sleeps ends no wait. */
WORK_FUNCTION void waiter_be_signalled(void)
{
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } };
	struct sigaction action = { .sa_handler = on_alarm };
	uint64_t n_waits = 0;
	long before;

	work_go_first();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < rounds; i++) {
		before = count_sleeps((int)work_tid());
		if (!futex(&signalled_word, FUTEX_WAIT, 0, NULL) || errno != EINTR)
			exit(1);
		n_waits += count_sleeps((int)work_tid()) > before;
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	atomic_store(&meeting->done, rounds);
	work_say("signalled_waits", n_waits);
	WORK_KEEP_FRAME();
}

static void begin_waiting(void)
{
	work_set_comm("waiter");
	atomic_store(&meeting->tid, (int)work_tid());
}

static void *lock_thread(void *lock)
{
	begin_waiting();
	waiter_lock(lock);
	return NULL;
}

static void *wait_thread(void *arg)
{
	begin_waiting();
	waiter_wait();
	return arg;
}

static void *requeued_thread(void *arg)
{
	begin_waiting();
	waiter_be_requeued();
	return arg;
}

static void *signalled_thread(void *arg)
{
	begin_waiting();
	waiter_be_signalled();
	return arg;
}

static void *try_thread(void *arg)
{
	begin_waiting();
	waiter_try();
	return arg;
}

/* ---- the holder ---- */

static void begin_meeting(void)
{
	atomic_store(&meeting->begun, 0);
	atomic_store(&meeting->done, 0);
	atomic_store(&meeting->released, 0);
	atomic_store(&meeting->signals, 0);
	atomic_store(&meeting->tid, 0);
}

/* Waits for the thread's end; pthread_join() would wait for a futex. */
static void join(pthread_t thread)
{
	while (pthread_tryjoin_np(thread, NULL))
		pause_a_bit();
}

static void let_begin(int i)
{
	atomic_store(&meeting->released, i + 1);
	wait_for(&meeting->begun, i + 1);
	wait_until_asleep();
}

WORK_FUNCTION void holder_hold(pthread_mutex_t *lock)
{
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(lock);
		let_begin(i);
		pthread_mutex_unlock(lock);
		wait_for(&meeting->done, i + 1);
	}
	WORK_KEEP_FRAME();
}

/* Signals without holding the mutex, for which the waiter would have to wait, too. */
WORK_FUNCTION void holder_signal(void)
{
	for (int i = 0; i < rounds; i++) {
		let_begin(i);
		atomic_store(&meeting->signals, i + 1);
		pthread_cond_signal(&static_condition);
		wait_for(&meeting->done, i + 1);
	}
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void holder_requeue(void)
{
	for (int i = 0; i < rounds; i++) {
		let_begin(i);
		if (futex(&requeued_word, FUTEX_CMP_REQUEUE, 1, &other_word) != 1 ||
		    syscall(SYS_futex, &other_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) != 1)
			exit(1);
		wait_for(&meeting->done, i + 1);
	}
	WORK_KEEP_FRAME();
}

/* Wakes up nobody: the timer mostly interrupts the call, which has released nothing. */
WORK_FUNCTION void holder_wake_nobody(void)
{
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	while (!atomic_load(&meeting->done))
		futex(&other_word, FUTEX_WAKE, 0, NULL);
	WORK_KEEP_FRAME();
}

static void *pass_by(void *arg)
{
	return arg;
}

/* Threads exit meanwhile, on the waiter's CPU: none of them has released the lock. */
static void let_pass_by(void)
{
	pthread_t threads[16];

	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		pthread_create(&threads[i], NULL, pass_by, NULL);
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		join(threads[i]);
}

WORK_FUNCTION void holder_refuse(void)
{
	pthread_mutex_lock(&timed_lock);
	for (int i = 0; i < rounds; i++) {
		atomic_store(&meeting->released, i + 1);
		while (atomic_load(&meeting->done) <= i)
			let_pass_by();
	}
	pthread_mutex_unlock(&timed_lock);
	WORK_KEEP_FRAME();
}

static void with_thread(void *(*thread)(void *), void *arg, void (*hold)(void))
{
	pthread_t waiter;

	begin_meeting();
	pthread_create(&waiter, NULL, thread, arg);
	if (hold)
		hold();
	else
		holder_hold(arg);
	join(waiter);
}

static void make_mutex(pthread_mutex_t *lock, bool is_shared, bool has_pi)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	if (is_shared)
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (has_pi)
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attr);
}

/* ---- processes ---- */

static void *map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *memory;

	if (fd < 0 || ftruncate(fd, 2 * PAGE))
		exit(1);
	memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		exit(1);
	close(fd);
	return memory;
}

/*
 * Contends for a mutex in the file's second page. The child maps the file at another address, and
 * exits late, so that the tool can read its mappings.
 */
static void share_lock(const char *path, bool child_waits)
{
	pthread_mutex_t *lock = (void *)((char *)map_file(path) + PAGE + 64);
	int status;
	pid_t child;

	make_mutex(lock, true, false);
	begin_meeting();
	child = fork();
	if (!child) {
		(void)mmap(NULL, 64 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		lock = (void *)((char *)map_file(path) + PAGE + 64);
	}
	if (!child == child_waits) {
		begin_waiting();
		waiter_lock(lock);
	} else {
		work_set_comm("holder");
		wait_for(&meeting->tid, 1);
		holder_hold(lock);
	}
	if (!child) {
		work_sleep(200 * NS_PER_MS);
		_exit(0);
	}
	waitpid(child, &status, 0);
	work_set_comm("holder");
}

/* ---- kernel locks ---- */

/* Two writers with separate open files: writes to one open file wait for its position's lock. */
struct writer {
	int keeper_fd, waiter_fd, fault_fd;
	char *missing; /* a page without memory: reading it blocks */
};

static int open_faults(char *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range = { (uintptr_t)page, PAGE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &range))
		return fd;
	return -1;
}

static void *write_missing(void *arg)
{
	const struct writer *writer = arg;

	work_set_comm("keeper");
	if (write(writer->keeper_fd, writer->missing, 7) != 7)
		exit(1);
	return NULL;
}

static void *write_present(void *arg)
{
	const struct writer *writer = arg;

	begin_waiting();
	begin_round(0);
	if (write(writer->waiter_fd, "present", 7) != 7)
		exit(1);
	return NULL;
}

static void wait_for_fault(const struct writer *writer)
{
	struct uffd_msg msg;

	if (read(writer->fault_fd, &msg, sizeof(msg)) != sizeof(msg))
		exit(1);
}

static void end_fault(const struct writer *writer)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)writer->missing, PAGE } };

	if (ioctl(writer->fault_fd, UFFDIO_ZEROPAGE, &zero))
		exit(1);
}

WORK_FUNCTION void contend(const struct writer *writer)
{
	pthread_t keeper, waiter;

	for (int i = 0; i < rounds; i++) {
		begin_meeting();
		madvise(writer->missing, PAGE, MADV_DONTNEED);
		pthread_create(&keeper, NULL, write_missing, (void *)writer);
		wait_for_fault(writer);
		pthread_create(&waiter, NULL, write_present, (void *)writer);
		wait_for(&meeting->begun, 1);
		wait_until_asleep();
		end_fault(writer);
		join(keeper);
		join(waiter);
	}
	WORK_KEEP_FRAME();
}

static void contend_in_kernel(const char *path)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct writer writer = { .fault_fd = open_faults(page), .missing = page };
	int fds[2];

	work_say("kernel", writer.fault_fd >= 0);
	if (writer.fault_fd < 0)
		return;
	writer.keeper_fd = open(path, O_WRONLY);
	writer.waiter_fd = open(path, O_WRONLY);
	contend(&writer);
	if (pipe(fds))
		exit(1);
	writer.keeper_fd = writer.waiter_fd = fds[1];
	contend(&writer);
}

/* Exits while a thread waits. */
static void leave(void)
{
	pthread_t waiter;

	begin_meeting();
	pthread_mutex_lock(&static_lock);
	pthread_create(&waiter, NULL, lock_thread, &static_lock);
	let_begin(0);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	rounds = work_number(argc, argv, 1, 1);
	work_set_comm("holder");
	meeting = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	heap_lock = malloc(sizeof(*heap_lock));
	make_mutex(heap_lock, false, false);
	make_mutex(&pi_lock, false, true);
	work_say("heap_lock", (uintptr_t)heap_lock);
	work_wait_go();
	if (!strcmp(argv[2], "leave"))
		leave();
	with_thread(lock_thread, &static_lock, NULL);
	with_thread(lock_thread, &pi_lock, NULL);
	with_thread(lock_thread, heap_lock, NULL);
	with_thread(wait_thread, NULL, holder_signal);
	with_thread(requeued_thread, NULL, holder_requeue);
	share_lock(argv[2], true);
	share_lock(argv[2], false);
	contend_in_kernel(argv[2]);
	work_pin(0);
	with_thread(try_thread, NULL, holder_refuse);
	with_thread(signalled_thread, NULL, holder_wake_nobody);
	work_wait_end();
	return 0;
}
