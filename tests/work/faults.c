// SPDX-License-Identifier: GPL-2.0-only
/*
 * faults KIND:PAGES[:FILE]...: faults in PAGES pages of memory, one after the other, in
 * touch_pages(), called by touch_outer():
 *	anon	anonymous memory
 *	heap	memory below the program break
 *	stack	the main thread's stack
 *	shmem	a memfd called "planted"
 *	sysv	the first System V segment of a namespace, which is deleted
 *	memfds	PAGES memfds called "one", a page of each
 *	file	FILE, after its pages are evicted from the page cache
 *	deleted	FILE, evicted and deleted
 *	user	anonymous memory with userfaultfd: each page arrives 2 ms after its fault
 *	kernel	anonymous memory, written by the kernel in read(), called by read_pages()
 *	slow	anonymous memory, a page every 2 ms
 * Each argument waits for its own go.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/shm.h>

#include "work.h"

#define PAGE	      4096UL
#define USER_DELAY_NS (2 * NS_PER_MS)
#define SLOW_NS	      (2 * NS_PER_MS)

static uint64_t touched; /* total of the bytes read, so that reads are used */

WORK_FUNCTION void touch_pages(const char *memory, long pages, int is_write)
{
	for (long i = 0; i < pages; i++) {
		if (is_write)
			*(volatile char *)(uintptr_t)(memory + (unsigned long)i * PAGE) = 1;
		else
			touched += *(const volatile char *)(memory + (unsigned long)i * PAGE);
	}
}

WORK_FUNCTION void touch_outer(const char *memory, long pages, int is_write)
{
	touch_pages(memory, pages, is_write);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void read_pages(char *memory, long pages)
{
	int fd = open("/dev/zero", O_RDONLY);

	for (long i = 0; i < pages; i++)
		if (read(fd, memory + (unsigned long)i * PAGE, PAGE) != (ssize_t)PAGE)
			abort();
	close(fd);
	WORK_KEEP_FRAME();
}

/* Maps pages that fault one by one: no huge pages, no readahead. */
static char *map_pages(long pages, int flags, int fd)
{
	size_t bytes = (size_t)pages * PAGE;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (memory == MAP_FAILED)
		abort();
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	madvise(memory, bytes, MADV_RANDOM);
	return memory;
}

static void touch_anon(long pages, const char *file)
{
	(void)file;
	touch_outer(map_pages(pages, MAP_PRIVATE | MAP_ANONYMOUS, -1), pages, 1);
}

static void touch_kernel(long pages, const char *file)
{
	(void)file;
	read_pages(map_pages(pages, MAP_PRIVATE | MAP_ANONYMOUS, -1), pages);
}

static void touch_slowly(long pages, const char *file)
{
	char *memory = map_pages(pages, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	(void)file;
	for (long i = 0; i < pages; i++) {
		touch_outer(memory + (unsigned long)i * PAGE, 1, 1);
		work_sleep(SLOW_NS);
	}
}

static void touch_heap(long pages, const char *file)
{
	uintptr_t start = ((uintptr_t)sbrk(0) + PAGE - 1) & ~(PAGE - 1);

	(void)file;
	if (brk((void *)(start + (uintptr_t)pages * PAGE)))
		abort();
	madvise((void *)start, (size_t)pages * PAGE, MADV_NOHUGEPAGE);
	touch_outer((const char *)start, pages, 1);
}

/* Touches pages downwards, from below the used stack. */
static void touch_stack(long pages, const char *file)
{
	char *here = (char *)(((uintptr_t)&file & ~(PAGE - 1)) - 16 * PAGE);

	touch_pages(here - PAGE, 17, 1);
	for (long i = 0; i < pages; i++)
		touch_outer(here - (unsigned long)(i + 2) * PAGE, 1, 1);
}

static int make_memfd(const char *name, long pages)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, pages * (long)PAGE))
		abort();
	return fd;
}

static void touch_shmem(long pages, const char *file)
{
	int fd = make_memfd("planted", pages);

	(void)file;
	touch_outer(map_pages(pages, MAP_SHARED, fd), pages, 1);
	close(fd);
}

static void touch_sysv(long pages, const char *file)
{
	int id = unshare(CLONE_NEWIPC)
			 ? -1
			 : shmget(IPC_PRIVATE, (size_t)pages * PAGE, IPC_CREAT | 0600);
	char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

	(void)file;
	shmctl(id, IPC_RMID, NULL);
	if (at == (char *)-1)
		abort();
	touch_outer(at, pages, 1);
}

static void touch_memfds(long pages, const char *file)
{
	(void)file;
	for (long i = 0; i < pages; i++) {
		int fd = make_memfd("one", 1);

		touch_outer(map_pages(1, MAP_SHARED, fd), 1, 1);
		close(fd);
	}
}

static char *map_evicted(long pages, int fd)
{
	if (fd < 0 || fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		abort();
	return map_pages(pages, MAP_PRIVATE, fd);
}

static void touch_file(long pages, const char *file)
{
	int fd = open(file, O_RDONLY);

	touch_outer(map_evicted(pages, fd), pages, 0);
	close(fd);
}

static void touch_deleted(long pages, const char *file)
{
	int fd = open(file, O_RDONLY);
	char *memory = map_evicted(pages, fd);

	unlink(file);
	touch_outer(memory, pages, 0);
	close(fd);
}

/* ---- userfaultfd ---- */

struct region {
	char *memory;
	long pages;
	int fd;
};

static void *serve_pages(void *arg)
{
	const struct region *region = arg;
	static char page[PAGE] __attribute__((aligned(PAGE)));
	struct uffd_msg msg;

	for (long i = 0; i < region->pages; i++) {
		if (read(region->fd, &msg, sizeof(msg)) != sizeof(msg))
			abort();
		work_sleep(USER_DELAY_NS);
		ioctl(region->fd, UFFDIO_COPY,
		      &(struct uffdio_copy){ msg.arg.pagefault.address & ~(PAGE - 1),
					     (uintptr_t)page, PAGE, 0, 0 });
	}
	return NULL;
}

static void touch_user(long pages, const char *file)
{
	struct region region = { map_pages(pages, MAP_PRIVATE | MAP_ANONYMOUS, -1), pages, -1 };
	struct uffdio_register range = { { (uintptr_t)region.memory, (size_t)pages * PAGE },
					 UFFDIO_REGISTER_MODE_MISSING,
					 0 };
	pthread_t server;

	(void)file;
	region.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (region.fd < 0 || ioctl(region.fd, UFFDIO_API, &(struct uffdio_api){ UFFD_API, 0, 0 }) ||
	    ioctl(region.fd, UFFDIO_REGISTER, &range)) {
		work_say("refused", 1);
		return;
	}
	pthread_create(&server, NULL, serve_pages, &region);
	touch_outer(region.memory, pages, 1);
	pthread_join(server, NULL);
	close(region.fd);
}

static const struct {
	const char *name;
	void (*touch)(long pages, const char *file);
} kinds[] = {
	{ "anon", touch_anon },	      { "heap", touch_heap },	  { "stack", touch_stack },
	{ "shmem", touch_shmem },     { "memfds", touch_memfds }, { "file", touch_file },
	{ "deleted", touch_deleted }, { "user", touch_user },	  { "kernel", touch_kernel },
	{ "slow", touch_slowly },     { "sysv", touch_sysv },
};

static void touch_named(const char *name, long pages, const char *file)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			kinds[i].touch(pages, file);
}

int main(int argc, char **argv)
{
	char name[16], file[256];
	long pages;

	touched = 1; /* faults its page in before the work */
	work_set_comm("faults");
	for (int i = 1; i < argc; i++) {
		file[0] = '\0';
		if (sscanf(argv[i], "%15[^:]:%ld:%255s", name, &pages, file) < 2)
			return 1;
		work_wait_go();
		touch_named(name, pages, file);
	}
	work_wait_end();
	return 0;
}
