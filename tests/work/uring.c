// SPDX-License-Identifier: GPL-2.0-only
/*
 * uring N [late]: N reads of a pipe by io_uring, for which the kernel makes two threads in this
 * process: one polls for requests (iou-sqp-PID), one reads (iou-wrk-PID). The first read begins
 * before "@ready", with "late" after it. Prints the number of these threads: "@uring threads N"; 0
 * without io_uring, or if the kernel uses its own threads.
 */
#include <linux/io_uring.h>
#include <sys/stat.h>

#include "work.h"

static char *ring;
static struct io_uring_sqe *requests;
static struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1 };

static char *map_ring(int fd, size_t size, off_t offset)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	if (at == MAP_FAILED)
		abort();
	return at;
}

static int open_ring(void)
{
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params);

	if (fd < 0 || !(params.features & IORING_FEAT_SINGLE_MMAP))
		return -1;
	ring = map_ring(fd, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
			IORING_OFF_SQ_RING);
	requests = (void *)map_ring(fd, sizeof(*requests), IORING_OFF_SQES);
	return fd;
}

static void begin_read(int ring_fd, int fd)
{
	static char byte;
	unsigned *tail = (void *)(ring + params.sq_off.tail);

	requests[0] = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
					     .flags = IOSQE_ASYNC,
					     .fd = fd,
					     .addr = (uintptr_t)&byte,
					     .len = 1,
					     .off = (uint64_t)-1 };
	__atomic_store_n(tail, *tail + 1, __ATOMIC_SEQ_CST);
	syscall(SYS_io_uring_enter, ring_fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

static void end_read(int ring_fd, int fd)
{
	unsigned *head = (void *)(ring + params.cq_off.head);

	if (write(fd, "x", 1) != 1)
		abort();
	syscall(SYS_io_uring_enter, ring_fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

/* Prints the number of threads besides the main one, by their directories. */
static void say_threads(void)
{
	struct stat st = {};

	stat("/proc/self/task", &st);
	work_say("threads", st.st_nlink - 3);
}

int main(int argc, char **argv)
{
	int n = work_number(argc, argv, 1, 1), is_late = argc > 2, ring_fd, fds[2];

	if (is_late)
		work_wait_go();
	ring_fd = open_ring();
	if (pipe(fds))
		return 1;
	if (ring_fd >= 0)
		begin_read(ring_fd, fds[0]);
	work_sleep(20 * NS_PER_MS);
	say_threads();
	if (!is_late)
		work_wait_go();
	for (int i = 0; i < n && ring_fd >= 0; i++) {
		end_read(ring_fd, fds[1]);
		begin_read(ring_fd, fds[0]);
		work_sleep(10 * NS_PER_MS);
	}
	work_wait_end();
	return 0;
}
