// SPDX-License-Identifier: GPL-2.0-only
/*
 * disk PATH [KIND N BYTES]...: N operations of BYTES bytes on a block device, from its beginning.
 * KIND: "read" and "write" bypass the page cache (O_DIRECT), "threads" reads, too, each time in a
 * thread of its own, called "reader"; "sync" writes through it (O_DSYNC),
 * "buffered" writes to it, then calls fsync(), "mapped" writes by mmap(), then calls msync(),
 * "discard", "flush", which has no size, and "uring" and "merged", N reads at once by io_uring:
 * of every other BYTES, so that they are not merged, or of adjacent ones. "swapped" has N times
 * BYTES of memory written to swap, which may be the device, and read again.
 */
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "work.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define BUFFER_BYTES (1 << 20)

static char *buffer;

static void must(int is_done)
{
	if (!is_done) {
		perror("disk");
		exit(1);
	}
}

WORK_FUNCTION void disk_read(int fd, size_t bytes, off_t at)
{
	must(pread(fd, buffer, bytes, at) == (ssize_t)bytes);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void disk_write(int fd, size_t bytes, off_t at)
{
	must(pwrite(fd, buffer, bytes, at) == (ssize_t)bytes);
	WORK_KEEP_FRAME();
}

static void *map(int fd, size_t bytes, off_t at)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

	must(memory != MAP_FAILED);
	return memory;
}

static void write_mapped(int fd, size_t bytes)
{
	char *memory = map(fd, bytes, 0);

	memset(memory, 2, bytes);
	must(!msync(memory, bytes, MS_SYNC));
	munmap(memory, bytes);
}

/* Exits with status 77 if there is no io_uring. */
static void read_at_once(int fd, unsigned n, size_t bytes, size_t apart)
{
	struct io_uring_params params = {};
	int ring_fd = (int)syscall(SYS_io_uring_setup, n, &params);
	struct io_uring_sqe *requests;
	char *ring;

	if (ring_fd < 0)
		exit(77);
	ring = map(ring_fd, params.sq_off.array + params.sq_entries * sizeof(unsigned),
		   IORING_OFF_SQ_RING);
	requests = map(ring_fd, n * sizeof(*requests), IORING_OFF_SQES);
	for (unsigned i = 0; i < n; i++) {
		requests[i] = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
						     .fd = fd,
						     .addr = (uintptr_t)buffer +
							     (apart == bytes ? i * bytes : 0),
						     .len = (unsigned)bytes,
						     .off = i * apart };
		((unsigned *)(void *)(ring + params.sq_off.array))[i] = i;
	}
	__atomic_store_n((unsigned *)(void *)(ring + params.sq_off.tail), n, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, ring_fd, n, n, IORING_ENTER_GETEVENTS, NULL, 0) == n);
	close(ring_fd);
}

static void swap_memory(size_t bytes)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED);
	for (size_t i = 0; i < bytes; i += sizeof(i))
		*(size_t *)(void *)(memory + i) = i * 0x9e3779b97f4a7c15; /* doesn't compress */
	must(!madvise(memory, bytes, MADV_PAGEOUT));
	for (size_t i = 0; i < bytes; i += 4096)
		must(*(volatile size_t *)(void *)(memory + i) == i * 0x9e3779b97f4a7c15);
	munmap(memory, bytes);
}

struct part {
	int fd;
	size_t bytes;
	off_t at;
};

static void *read_part(void *arg)
{
	const struct part *part = arg;

	prctl(PR_SET_NAME, "reader");
	disk_read(part->fd, part->bytes, part->at);
	return NULL;
}

static void read_in_thread(int fd, size_t bytes, off_t at)
{
	struct part part = { fd, bytes, at };
	pthread_t thread;

	must(!pthread_create(&thread, NULL, read_part, &part) && !pthread_join(thread, NULL));
}

static void do_one(const char *kind, int fd, size_t bytes, off_t at)
{
	uint64_t range[] = { (uint64_t)at, bytes };

	if (!strcmp(kind, "read"))
		disk_read(fd, bytes, at);
	else if (!strcmp(kind, "threads"))
		read_in_thread(fd, bytes, at);
	else if (!strcmp(kind, "discard"))
		must(!ioctl(fd, BLKDISCARD, range));
	else if (!strcmp(kind, "flush"))
		must(!fsync(fd));
	else
		disk_write(fd, bytes, at);
}

static void do_all(const char *path, const char *kind, int n, size_t bytes)
{
	int is_cached = !strcmp(kind, "buffered") || !strcmp(kind, "mapped");
	int flags = !strcmp(kind, "sync") ? O_DSYNC : is_cached ? 0 : O_DIRECT;
	int fd = open(path, O_RDWR | flags);

	must(fd >= 0);
	if (!strcmp(kind, "uring"))
		read_at_once(fd, (unsigned)n, bytes, 2 * bytes);
	else if (!strcmp(kind, "merged"))
		read_at_once(fd, (unsigned)n, bytes, bytes);
	else if (!strcmp(kind, "mapped"))
		write_mapped(fd, n * bytes);
	else
		for (int i = 0; i < n; i++)
			do_one(kind, fd, bytes, (off_t)bytes * i);
	if (!flags)
		must(!fsync(fd));
	close(fd);
}

int main(int argc, char **argv)
{
	must(argc > 1 && !posix_memalign((void **)&buffer, 4096, BUFFER_BYTES));
	memset(buffer, 1, BUFFER_BYTES);
	work_wait_go();
	for (int i = 2; i + 2 < argc; i += 3) {
		int n = atoi(argv[i + 1]);
		size_t bytes = (size_t)atoi(argv[i + 2]);

		if (!strcmp(argv[i], "swapped"))
			swap_memory((size_t)n * bytes);
		else
			do_all(argv[1], argv[i], n, bytes);
	}
	work_wait_end();
	return 0;
}
