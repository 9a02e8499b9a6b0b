// SPDX-License-Identifier: GPL-2.0-only
/*
 * disk PATH [KIND N BYTES]...: N operations of BYTES bytes on a block device, from its beginning.
 * KIND: "read" and "write" bypass the page cache (O_DIRECT), "sync" writes through it (O_DSYNC),
 * "buffered" writes to it, then calls fsync(), "discard", and "flush", which has no size.
 */
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>

#include "work.h"

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

static void do_one(const char *kind, int fd, size_t bytes, off_t at)
{
	uint64_t range[] = { (uint64_t)at, bytes };

	if (!strcmp(kind, "read"))
		disk_read(fd, bytes, at);
	else if (!strcmp(kind, "discard"))
		must(!ioctl(fd, BLKDISCARD, range));
	else if (!strcmp(kind, "flush"))
		must(!fsync(fd));
	else
		disk_write(fd, bytes, at);
}

static void do_all(const char *path, const char *kind, int n, size_t bytes)
{
	int flags = !strcmp(kind, "sync") ? O_DSYNC : strcmp(kind, "buffered") ? O_DIRECT : 0;
	int fd = open(path, O_RDWR | flags);

	must(fd >= 0);
	for (int i = 0; i < n; i++)
		do_one(kind, fd, bytes, (off_t)bytes * i);
	if (!flags)
		must(!fsync(fd));
	close(fd);
}

int main(int argc, char **argv)
{
	must(argc > 1 && !posix_memalign((void **)&buffer, 4096, 1 << 20));
	memset(buffer, 1, 1 << 20);
	work_wait_go();
	for (int i = 2; i + 2 < argc; i += 3)
		do_all(argv[1], argv[i], atoi(argv[i + 1]), (size_t)atoi(argv[i + 2]));
	work_wait_end();
	return 0;
}
